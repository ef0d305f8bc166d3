"""The pull policy that follows from an image's name: `latest` is pulled always, a fixed tag once.

Reads names as container registries do. A name that is no valid reference has no tag, so it gets
`IfNotPresent`, as upstream. The runtime decides whether such an image can run.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_COMPONENT: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST_PART: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_DIGEST: Final = r"sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}"
_REFERENCE: Final = (
    rf"(?P<name>(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*)(?::(?P<tag>[\w][\w.-]{{0,127}}))?"
    rf"(?:@(?P<digest>{_DIGEST}))?"
)
"""Compiled with the first image, since compiling takes 2 ms, which many starts need not spend."""
_is_identifier: Final = re.compile("[a-f0-9]{64}").fullmatch
_MAX_NAME_CHARACTERS: Final = 255
_MAX_IMAGE_CHARACTERS: Final = _MAX_NAME_CHARACTERS + 1 + 128 + len("@sha512:") + 128
"""The longest image: a name, a tag and a digest."""


def pull_policy(image: str) -> str:
    """`Always` for the tag `latest` (the default without tag and digest), else `IfNotPresent`."""
    return _pull_policy(image) if len(image) <= _MAX_IMAGE_CHARACTERS else "IfNotPresent"


@lru_cache(maxsize=1024)
def _pull_policy(image: str) -> str:
    found = re.fullmatch(_REFERENCE, image, re.ASCII)
    if found is None or len(found["name"]) > _MAX_NAME_CHARACTERS or _is_identifier(image):
        return "IfNotPresent"
    tag = found["tag"] or ("" if found["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"
