"""The rules for identifiers other than names: variables, keys of ConfigMaps, ports, addresses, headers.

Each function takes a value and returns what is wrong with it, in Kubernetes' own words, as in `names.py`.
"""

from __future__ import annotations

import re
import socket
from typing import Final

from longshore.api import names

_HTTP_PATH: Final = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
_HTTP_HEADER: Final = "[-A-Za-z0-9]+"
_CONFIG_MAP_KEY: Final = "[-._a-zA-Z0-9]+"
_IPV4: Final = r"([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)"
_is_env_var: Final = re.compile("[ -<>-~]+").fullmatch

_HTTP_PATH_TEXT: Final = f"Invalid path (regex used for validation is '{_HTTP_PATH}')"
_HTTP_HEADER_TEXT: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-'"
    f" (e.g. 'X-Header-Name', regex used for validation is '{_HTTP_HEADER}')"
)
_CONFIG_MAP_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    f" (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_MAP_KEY}')"
)
_ENV_VAR_TEXT: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_IP_TEXT: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def env_var_name(value: str) -> list[str]:
    """Any printable ASCII except `=`."""
    if _is_env_var(value):
        return []
    return [_ENV_VAR_TEXT] if value else ["environment variable name must be non-empty"]


def config_map_key(value: str) -> list[str]:
    """A key of a ConfigMap or Secret: a file name, so never `.`, nor anything that begins with `..`."""
    problems = []
    if names.longer(value, 253):
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
    if names.longer(value, 15):
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
        socket.inet_pton(socket.AF_INET, value)  # accepts nearly all valid addresses, and no other
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


def domain_prefixed_path(value: str) -> list[tuple[str, str]]:
    """Checks `acme.io/foo`. Returns (offending part, problem) pairs; the caller handles an empty value."""
    host, slash, path = value.partition("/")
    if not slash or not host or not path:
        return [(value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    problems = [(host, text) for text in names.dns1123_subdomain(host)]
    if not re.fullmatch(_HTTP_PATH, path):
        problems.append((path, _HTTP_PATH_TEXT))
    return problems


# ---- UIDs (UUIDs of version 4) and suffixes of names, from random bits that the caller brings.

UID_BITS: Final = 128
_VARIANT: Final = {d: "89ab"[int(d, 16) & 3] for d in "0123456789abcdef"}


def uid_from_bits(bits: int) -> str:
    """The UUID of 128 bits; version and variant replace six of them."""
    h = f"{bits:032x}"
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{_VARIANT[h[16]]}{h[17:20]}-{h[20:]}"


SUFFIX_BITS: Final = 64
_SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that no words appear
_SUFFIX_PAIRS: Final = [a + b for b in _SUFFIX_ALPHABET for a in _SUFFIX_ALPHABET]


def suffix_from_bits(bits: int) -> str:
    """Five characters for a generated name."""
    pairs = len(_SUFFIX_PAIRS)
    first, second = _SUFFIX_PAIRS[bits % pairs], _SUFFIX_PAIRS[bits // pairs % pairs]
    return first + second + _SUFFIX_ALPHABET[bits // (pairs * pairs) % len(_SUFFIX_ALPHABET)]
