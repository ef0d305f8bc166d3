"""JSON merge patch (RFC 7386): objects merge, null deletes, everything else replaces."""

from __future__ import annotations

from typing import Any, Final

from longshore.api.types import Obj

_NESTED: Final = frozenset((dict, list))


def merged(original: Obj, patch: Obj) -> Obj:
    """The patched object. Neither argument is changed; unchanged parts are shared with `original`.

    Nulls inside lists of the patch are removed as well, as in the library Kubernetes uses: a list is new
    content, and new content holds no nulls.
    """
    out = dict(original)
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        elif type(value) is dict and type(out.get(key)) is dict:
            out[key] = merged(out[key], value)
        else:
            out[key] = _without_nulls(value)
    return out


def _without_nulls(value: Any) -> Any:
    # A call for every object and list, and none for the texts and numbers in them, which are most.
    if type(value) is dict:
        return {k: _without_nulls(v) if type(v) in _NESTED else v for k, v in value.items() if v is not None}
    if type(value) is list:
        return [_without_nulls(v) if type(v) in _NESTED else v for v in value if v is not None]
    return value
