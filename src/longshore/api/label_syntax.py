"""The rules for keys and values of labels and annotations, in Kubernetes' own words.

Each function takes a string and returns what is wrong with it, as in `names.py`. The length rule is worded in
bytes here and in characters there, as upstream has it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from longshore.api import names

_MAX_QUALIFIED_CHARACTERS: Final = 253 + 1 + 63
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_QUALIFIED})?"

_is_qualified: Final = re.compile(_QUALIFIED).fullmatch
_is_label_value: Final = re.compile(_LABEL_VALUE).fullmatch

_QUALIFIED_TEXT: Final = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {names.ALPHANUMERIC_ENDS}"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{names.ALPHANUMERIC_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '{_LABEL_VALUE}')"
)


def is_qualified_name(value: str) -> bool:
    """Whether `qualified_name` finds nothing wrong."""
    return len(value) <= _MAX_QUALIFIED_CHARACTERS and _is_qualified_name(value)


@lru_cache(maxsize=4096)
def _is_qualified_name(value: str) -> bool:
    prefix, slash, name = value.rpartition("/")
    if slash and not (len(prefix) <= 253 and names.is_subdomain(prefix)):
        return False
    return len(name) <= 63 and _is_qualified(name) is not None


def qualified_name(value: str) -> list[str]:
    """Checks a label key: a name of at most 63 bytes, with an optional DNS prefix before a slash."""
    if is_qualified_name(value):
        return []
    parts = value.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {_QUALIFIED_TEXT}"
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = []
    if len(parts) == 2:
        prefix = parts[0]
        if not prefix:
            problems.append("prefix part must be non-empty")
        else:
            if names.longer(prefix, 253):
                problems.append("prefix part must be no more than 253 bytes")
            if not names.is_subdomain(prefix):
                problems.append(f"prefix part {names.SUBDOMAIN_TEXT}")
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    elif names.longer(name, 63):
        problems.append("name part must be no more than 63 bytes")
    if not _is_qualified(name):
        problems.append(f"name part {_QUALIFIED_TEXT}")
    return problems


def is_label_value(value: str) -> bool:
    """Whether `label_value` finds nothing wrong."""
    if len(value) > 63:
        return False
    # Nearly all are of letters, digits and dashes, and many (uids) are seen only once: no use in remembering.
    bare = value.replace("-", "")
    if bare.isalnum() and bare.isascii() and value[0] != "-" and value[-1] != "-":
        return True
    return _is_label_value(value) is not None


def label_value(value: str) -> list[str]:
    """Checks a label's value: empty, or at most 63 characters that start and end alphanumeric."""
    if is_label_value(value):
        return []
    problems = ["must be no more than 63 bytes"] if names.longer(value, 63) else []
    if not _is_label_value(value):
        problems.append(_LABEL_VALUE_TEXT)
    return problems
