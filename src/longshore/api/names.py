"""The rules for names, keys and values, in Kubernetes' own words.

Each function takes a string and returns what is wrong with it, one sentence per problem; an empty
list means the string is fine. They know nothing of fields and paths: callers put the sentences into
field errors. Lengths are counted in bytes, as Kubernetes counts them.

Two wordings of the length rule exist upstream ("characters" in names, "bytes" in label keys and
values) and both are kept, since clients see them.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from longshore.api.strategy import NameRule

NameFunction: TypeAlias = Callable[[str, bool], list[str]]
"""Checks an object's name, or with True a generateName, whose trailing dash is fine."""

_LABEL_1123: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = _LABEL_1123 + r"(\." + _LABEL_1123 + ")*"
_LABEL_UNDERSCORE: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE: Final = _LABEL_UNDERSCORE + r"(\." + _LABEL_UNDERSCORE + ")*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_QUALIFIED})?"
_HTTP_PATH: Final = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
_HTTP_HEADER: Final = "[-A-Za-z0-9]+"
_CONFIG_MAP_KEY: Final = "[-._a-zA-Z0-9]+"
_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_IPV4: Final = r"([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)"

# Patterns that nearly every object needs; the others are compiled when first used.
_is_label_1123: Final = re.compile(_LABEL_1123).fullmatch
_is_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_is_subdomain_underscore: Final = re.compile(_SUBDOMAIN_UNDERSCORE).fullmatch
_is_qualified: Final = re.compile(_QUALIFIED).fullmatch
_is_label_value: Final = re.compile(_LABEL_VALUE).fullmatch
_is_env_var: Final = re.compile("[ -<>-~]+").fullmatch

_ALNUM_ENDS: Final = "and must start and end with an alphanumeric character"
_LABEL_1123_TEXT: Final = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ALNUM_ENDS}"
    f" (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_1123}')"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"{_ALNUM_ENDS} (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_SUBDOMAIN_UNDERSCORE_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', '_' or '.', "
    f"{_ALNUM_ENDS} (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_UNDERSCORE}')"
)
_LABEL_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character"
    f" (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_LABEL_1035}')"
)
_QUALIFIED_TEXT: Final = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ALNUM_ENDS}"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{_ALNUM_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '{_LABEL_VALUE}')"
)
_HTTP_PATH_TEXT: Final = f"Invalid path (regex used for validation is '{_HTTP_PATH}')"
_HTTP_HEADER_TEXT: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-'"
    f" (e.g. 'X-Header-Name', regex used for validation is '{_HTTP_HEADER}')"
)
_CONFIG_MAP_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    f" (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_MAP_KEY}')"
)
_C_IDENTIFIER_TEXT: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_'"
    f" (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '{_C_IDENTIFIER}')"
)
_ENV_VAR_TEXT: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_IP_TEXT: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def _longer(value: str, limit: int) -> bool:
    return len(value) > limit or (not value.isascii() and len(value.encode()) > limit)


def dns1123_label(value: str) -> list[str]:
    """One part of a DNS name: at most 63 of a-z, 0-9 and dash."""
    if len(value) <= 63 and _is_label_1123(value):
        return []
    problems = ["must be no more than 63 characters"] if _longer(value, 63) else []
    if not _is_label_1123(value):
        problems.append("must not contain dots" if _is_subdomain(value) else _LABEL_1123_TEXT)
    return problems


@lru_cache(maxsize=1024)
def is_dns1123_label(value: str) -> bool:
    """Whether `dns1123_label` finds nothing wrong. Remembers: for what comes again, as namespaces do."""
    return not dns1123_label(value)


def dns1123_subdomain(value: str) -> list[str]:
    """Labels joined by dots, at most 253 together."""
    if len(value) <= 253 and _is_subdomain(value):
        return []
    problems = ["must be no more than 253 characters"] if _longer(value, 253) else []
    if not _is_subdomain(value):
        problems.append(_SUBDOMAIN_TEXT)
    return problems


def dns1123_subdomain_with_underscore(value: str) -> list[str]:
    """A search domain of a resolver: as a subdomain, with underscores as service records have them."""
    problems = ["must be no more than 253 characters"] if _longer(value, 253) else []
    if not _is_subdomain_underscore(value):
        problems.append(_SUBDOMAIN_UNDERSCORE_TEXT)
    return problems


def dns1035_label(value: str) -> list[str]:
    """A DNS label that starts with a letter."""
    if len(value) <= 63 and re.fullmatch(_LABEL_1035, value):
        return []
    problems = ["must be no more than 63 characters"] if _longer(value, 63) else []
    if not re.fullmatch(_LABEL_1035, value):
        problems.append(_LABEL_1035_TEXT)
    return problems


@lru_cache(maxsize=4096)
def is_qualified_name(value: str) -> bool:
    """Whether `qualified_name` finds nothing wrong."""
    prefix, slash, name = value.rpartition("/")
    if slash and not (len(prefix) <= 253 and _is_subdomain(prefix)):
        return False
    return len(name) <= 63 and _is_qualified(name) is not None


def qualified_name(value: str) -> list[str]:
    """A label key: a name of at most 63, with an optional DNS prefix before a slash."""
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
            if _longer(prefix, 253):
                problems.append("prefix part must be no more than 253 bytes")
            if not _is_subdomain(prefix):
                problems.append(f"prefix part {_SUBDOMAIN_TEXT}")
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    elif _longer(name, 63):
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
    """A label's value: empty, or at most 63 characters that start and end alphanumeric."""
    if is_label_value(value):
        return []
    problems = ["must be no more than 63 bytes"] if _longer(value, 63) else []
    if not _is_label_value(value):
        problems.append(_LABEL_VALUE_TEXT)
    return problems


def env_var_name(value: str) -> list[str]:
    """Any printable ASCII except `=`."""
    if _is_env_var(value):
        return []
    return [_ENV_VAR_TEXT] if value else ["environment variable name must be non-empty"]


def c_identifier(value: str) -> list[str]:
    return [] if re.fullmatch(_C_IDENTIFIER, value) else [_C_IDENTIFIER_TEXT]


def config_map_key(value: str) -> list[str]:
    """A key of a ConfigMap or Secret: a file name, so never `.`, nor anything that begins with `..`."""
    problems = []
    if _longer(value, 253):
        problems.append("must be no more than 253 characters")
    if not re.fullmatch(_CONFIG_MAP_KEY, value):
        problems.append(_CONFIG_MAP_KEY_TEXT)
    if value in (".", ".."):
        problems.append(f"must not be '{value}'")
    elif value.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def port_name(value: str) -> list[str]:
    """An IANA service name: at most 15 of a-z, 0-9 and single dashes, with a letter."""
    problems = []
    if _longer(value, 15):
        problems.append("must be no more than 15 characters")
    if not re.fullmatch("[-a-z0-9]+", value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value and (value[0] == "-" or value[-1] == "-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def port_number(value: int) -> list[str]:
    return [] if 1 <= value <= 65535 else ["must be between 1 and 65535, inclusive"]


def ip(value: str) -> list[str]:
    """An address of either family. Leading zeros in IPv4 are decimal, as they always were upstream."""
    return [] if _is_ip(value) else [_IP_TEXT]


def _is_ip(value: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET, value)  # what it takes is right, and nearly all are what it takes
        return True
    except (OSError, ValueError):
        pass
    quad = re.fullmatch(_IPV4, value)
    if quad:
        return all(len(part.lstrip("0")) <= 3 and int(part) <= 255 for part in quad.groups())
    try:
        socket.inet_pton(socket.AF_INET6, value)
    except (OSError, ValueError):
        return False
    return True


def http_header_name(value: str) -> list[str]:
    return [] if re.fullmatch(_HTTP_HEADER, value) else [_HTTP_HEADER_TEXT]


def path_segment(value: str) -> list[str]:
    """A text between two slashes of a URL: anything except `.`, `..`, `/` and `%`, even the empty string."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> list[str]:
    if "/" not in value and "%" not in value:
        return []
    return [f"may not contain '{ch}'" for ch in "/%" if ch in value]


def domain_prefixed_path(value: str) -> list[tuple[str, str]]:
    """`acme.io/foo`. Returns (the offending part, what is wrong with it); empty input is the caller's."""
    host, slash, path = value.partition("/")
    if not slash or not host or not path:
        return [(value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    problems = [(host, text) for text in dns1123_subdomain(host)]
    if not re.fullmatch(_HTTP_PATH, path):
        problems.append((path, _HTTP_PATH_TEXT))
    return problems


def _masked(name: str) -> str:
    """A prefix may end in a dash, as something follows it; upstream swaps the last two characters for
    an `a`, so a prefix of just `-` stays as it is and fails."""
    return name[:-2] + "a" if len(name) > 1 and name[-1] == "-" else name


def name_is_subdomain(name: str, prefix: bool) -> list[str]:
    return dns1123_subdomain(_masked(name) if prefix else name)


def name_is_label(name: str, prefix: bool) -> list[str]:
    return dns1123_label(_masked(name) if prefix else name)


def name_is_dns1035_label(name: str, prefix: bool) -> list[str]:
    return dns1035_label(_masked(name) if prefix else name)


def name_is_path_segment(name: str, prefix: bool) -> list[str]:
    return path_segment_prefix(name) if prefix else path_segment(name)


NAME_FUNCTIONS: Final[dict[NameRule, NameFunction]] = {
    "subdomain": name_is_subdomain,
    "label": name_is_label,
    "any": name_is_path_segment,
}
"""The function behind each name rule a strategy can ask for."""
