"""The rules for names, in Kubernetes' own words. Labels: `label_syntax.py`; the rest: `identifiers.py`.

Each function takes a string and returns what is wrong with it, one sentence per problem; an empty
list means the string is fine. They know nothing of fields and paths: callers put the sentences into
field errors. Lengths are counted in bytes, as Kubernetes counts them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from longshore.api.strategy import NameRule

NameFunction: TypeAlias = Callable[[str, bool], list[str]]
"""Checks an object's name or, if the second argument is True, a generateName, which may end in a dash."""

_LABEL_1123: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = _LABEL_1123 + r"(\." + _LABEL_1123 + ")*"
_LABEL_UNDERSCORE: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE: Final = _LABEL_UNDERSCORE + r"(\." + _LABEL_UNDERSCORE + ")*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"

# Patterns that nearly every object needs; the others are compiled when first used.
_is_label_1123: Final = re.compile(_LABEL_1123).fullmatch
is_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_is_subdomain_underscore: Final = re.compile(_SUBDOMAIN_UNDERSCORE).fullmatch

ALPHANUMERIC_ENDS: Final = "and must start and end with an alphanumeric character"
_LABEL_1123_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    f"{ALPHANUMERIC_ENDS}"
    f" (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_1123}')"
)
SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"{ALPHANUMERIC_ENDS} (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_SUBDOMAIN_UNDERSCORE_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', '_' or '.', "
    f"{ALPHANUMERIC_ENDS} (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_UNDERSCORE}')"
)
_LABEL_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character"
    f" (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_LABEL_1035}')"
)


def longer(value: str, limit: int) -> bool:
    """Whether the text has more than `limit` bytes."""
    return len(value) > limit or (not value.isascii() and len(value.encode()) > limit)


def dns1123_label(value: str) -> list[str]:
    """Checks one part of a DNS name: at most 63 of a-z, 0-9 and dash."""
    if len(value) <= 63 and _is_label_1123(value):
        return []
    problems = ["must be no more than 63 characters"] if longer(value, 63) else []
    if not _is_label_1123(value):
        problems.append("must not contain dots" if is_subdomain(value) else _LABEL_1123_TEXT)
    return problems


@lru_cache(maxsize=1024)
def is_dns1123_label(value: str) -> bool:
    """Whether `dns1123_label` finds nothing wrong. Cached, for values that recur, as namespaces do."""
    return not dns1123_label(value)


def dns1123_subdomain(value: str) -> list[str]:
    """Checks labels joined by dots, at most 253 bytes together."""
    if len(value) <= 253 and is_subdomain(value):
        return []
    problems = ["must be no more than 253 characters"] if longer(value, 253) else []
    if not is_subdomain(value):
        problems.append(SUBDOMAIN_TEXT)
    return problems


def dns1123_subdomain_with_underscore(value: str) -> list[str]:
    """Checks a search domain of a resolver: a subdomain that may have underscores, as service records do."""
    problems = ["must be no more than 253 characters"] if longer(value, 253) else []
    if not _is_subdomain_underscore(value):
        problems.append(_SUBDOMAIN_UNDERSCORE_TEXT)
    return problems


def dns1035_label(value: str) -> list[str]:
    """Checks a DNS label that starts with a letter."""
    if len(value) <= 63 and re.fullmatch(_LABEL_1035, value):
        return []
    problems = ["must be no more than 63 characters"] if longer(value, 63) else []
    if not re.fullmatch(_LABEL_1035, value):
        problems.append(_LABEL_1035_TEXT)
    return problems


def path_segment(value: str) -> list[str]:
    """Checks a segment of a URL path: anything except `.`, `..`, `/` and `%`, even the empty string."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> list[str]:
    if "/" not in value and "%" not in value:
        return []
    return [f"may not contain '{ch}'" for ch in "/%" if ch in value]


def _masked(name: str) -> str:
    """Replaces the end of a prefix that ends in a dash, which is allowed since a suffix follows. Upstream
    puts an `a` for the last two characters, so a prefix of just `-` stays as it is and fails."""
    return name[:-2] + "a" if len(name) > 1 and name[-1] == "-" else name


def name_is_subdomain(name: str, prefix: bool) -> list[str]:
    return dns1123_subdomain(_masked(name) if prefix else name)


def name_is_label(name: str, prefix: bool) -> list[str]:
    return dns1123_label(_masked(name) if prefix else name)


def name_is_path_segment(name: str, prefix: bool) -> list[str]:
    return path_segment_prefix(name) if prefix else path_segment(name)


NAME_FUNCTIONS: Final[dict[NameRule, NameFunction]] = {
    "subdomain": name_is_subdomain,
    "label": name_is_label,
    "any": name_is_path_segment,
}
"""The function for each name rule that a strategy can ask for."""
