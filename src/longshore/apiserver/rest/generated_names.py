"""Generates names for objects that have only a generateName."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.call import Call

MAX_PREFIX_CHARACTERS: Final = 58
"""Characters of a generateName that go into the name: 63 of a label, less the random suffix."""
ANY_SUFFIX: Final = "xxxxx"
"""A stand-in with the length and letters of a random suffix."""
_MAX_TRIES: Final = 8  # as many as upstream makes before it gives up on a generateName


def free_name(api: Api, call: Call, prefix: str) -> str:
    """A random name that begins with `prefix`. It is free, unless all 8 tries gave names in use."""
    stem = prefix[:MAX_PREFIX_CHARACTERS]
    name = stem
    for _ in range(_MAX_TRIES):
        name = stem + api.suffix()
        if api.store.latest(Key(call.resource.storage, call.namespace, name)) is None:
            return name
    return name
