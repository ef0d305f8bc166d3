"""Addresses and networks in field errors, with Kubernetes' words for what is wrong with them."""

from __future__ import annotations

import re
import socket
from typing import Final

from longshore.api import field, identifiers
from longshore.api.field import FieldError

_CIDR_TEXT: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_is_prefix: Final = re.compile("[0-9]{1,3}", re.ASCII).fullmatch


def is_v6(address: str) -> bool:
    """Whether a valid address is of IPv6."""
    return ":" in address


def validate_ip(address: str, path: str) -> list[FieldError]:
    return [field.invalid(path, address, text) for text in identifiers.ip(address)]


def is_cidr(text: str) -> bool:
    address, _, prefix = text.partition("/")
    if identifiers.ip(address) or _is_prefix(prefix) is None:
        return False
    return int(prefix) <= (128 if is_v6(address) else 32)


def validate_cidr(text: str, path: str) -> list[FieldError]:
    return [] if is_cidr(text) else [field.invalid(path, text, _CIDR_TEXT)]


def packed(address: str) -> bytes:
    """A valid address as its 4 or 16 bytes."""
    if is_v6(address):
        return socket.inet_pton(socket.AF_INET6, address)
    return bytes(int(part) for part in address.split("."))


def validate_not_special(address: str, path: str) -> list[FieldError]:
    """Refuses addresses that make no sense for traffic between machines."""
    if identifiers.ip(address):
        return [field.invalid(path, address, "must be a valid IP address")]
    raw, v6 = packed(address), is_v6(address)
    if not any(raw):
        return [field.invalid(path, address, f"may not be unspecified ({address})")]
    if (raw[0] == 127 and not v6) or raw == bytes(15) + b"\x01":
        text = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    elif (raw[:2] == b"\xa9\xfe" and not v6) or (v6 and raw[0] == 0xFE and raw[1] & 0xC0 == 0x80):
        text = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    elif (raw[:3] == b"\xe0\x00\x00" and not v6) or (v6 and raw[:2] == b"\xff\x02"):
        text = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
    else:
        return []
    return [field.invalid(path, address, text)]


def validate_port_or_name(value: int | str, path: str) -> list[FieldError]:
    """Checks a port, given as its number or its name."""
    wrong = identifiers.port_number(value) if isinstance(value, int) else identifiers.port_name(value)
    return [field.invalid(path, value, text) for text in wrong]


def is_inside(inner: str, outer: str) -> bool:
    """Whether a valid network is a strict part of another."""
    inner_raw, outer_raw = (packed(text.partition("/")[0]) for text in (inner, outer))
    inner_bits, outer_bits = (int(text.partition("/")[2]) for text in (inner, outer))
    if len(inner_raw) != len(outer_raw) or inner_bits <= outer_bits:
        return False
    shift = 8 * len(outer_raw) - outer_bits
    return int.from_bytes(inner_raw, "big") >> shift == int.from_bytes(outer_raw, "big") >> shift
