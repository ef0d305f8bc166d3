"""Warnings about IP addresses in a form that a later Kubernetes will refuse."""

from __future__ import annotations

import re
import socket
from typing import Final

from longshore.api import field

_has_leading_zero: Final = re.compile(r"(?:^|\.)0\d").search


def warnings(address: str, path: str) -> list[str]:
    """For an address that passed validation."""
    quoted = field.quoted(address)
    if ":" not in address:
        if not _has_leading_zero(address):
            return []
        plain = ".".join(str(int(part)) for part in address.split("."))
        return [_nonstandard(path, quoted, plain)]
    try:
        raw = socket.inet_pton(socket.AF_INET6, address)
    except OSError:
        return []
    if raw[:12] == b"\0" * 10 + b"\xff\xff":
        return [_nonstandard(path, quoted, socket.inet_ntop(socket.AF_INET, raw[12:]))]
    shortest = socket.inet_ntop(socket.AF_INET6, raw)
    if shortest == address:
        return []
    return [
        f"{path}: IPv6 address {quoted} should be in RFC 5952 canonical format ({field.quoted(shortest)})"
    ]


def _nonstandard(path: str, quoted: str, instead: str) -> str:
    return (
        f"{path}: non-standard IP address {quoted} will be considered invalid in a future Kubernetes "
        f"release: use {field.quoted(instead)}"
    )
