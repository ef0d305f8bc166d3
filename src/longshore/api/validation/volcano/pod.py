"""Pods of Volcano's schedulers: the disruption budget of a group, in one of two annotations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from longshore.api import field, indexes

_KEYS: Final = ("volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable")
_is_number: Final = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_INT32: Final = 2**31


def validate(annotations: Mapping[str, str]) -> str:
    """The first problem of the annotations."""
    given = [key for key in _KEYS if key in annotations]
    for key in given:
        if problem := _budget(key, annotations[key]):
            return problem
    if len(given) > 1:
        return f"not allow configure multiple annotations <[{' '.join(_KEYS)}]> at same time"
    return ""


def _budget(key: str, value: str) -> str:
    number = indexes.integer(value)
    if number is not None and -_INT32 <= number < _INT32:
        if number <= 0:
            return f"invalid value <{field.quoted(value)}> for {key}, it must be a positive integer"
        return ""
    bare = value.replace("%", "")
    if not _is_number(bare):
        return f"invalid value strconv.Atoi: parsing {field.quoted(bare)}: invalid syntax for {key}"
    percent = indexes.integer(bare)
    if percent is None:
        return f"invalid value strconv.Atoi: parsing {field.quoted(bare)}: value out of range for {key}"
    if not 0 < percent < 100:
        return (
            f"invalid value <{field.quoted(value)}> for {key}, "
            "it must be a valid percentage which between 1% ~ 99%"
        )
    return ""
