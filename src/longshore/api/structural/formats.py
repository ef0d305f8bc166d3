"""Formats of strings and numbers that Kubernetes checks in custom resources; all others are ignored.

A check takes the string and says whether it has the format. Numbers have no check here: their formats
are ranges (`validate.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from typing import Final

from longshore.api import names, quantity
from longshore.api.codec import gobase64
from longshore.api.time import durations
from longshore.api.time.rfc3339 import TimeError
from longshore.api.types import Obj

Check = Callable[[str], bool]

_NUMBERS: Final = {"integer": frozenset(("int32", "int64")), "number": frozenset(("float", "double"))}
_UUID: Final = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s-?%s-?[0-9a-f]{12}"
_ANY4: Final = "[0-9a-f]{4}"
_VARIANT: Final = "[89ab][0-9a-f]{3}"
_DATE_TIME: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[tT]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([zZ]|[+-]\d{2}:\d{2})", re.ASCII
)
_URI: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*:[^\x00-\x20\x7f]*|/[^\x00-\x20\x7f]*)")
_EMAIL: Final = re.compile(r"(?:[^<>\"]*<)?[^\s@<>\",;:]+@[^\s@<>\",;:]+>?")
_SCALA_DURATION: Final = re.compile(
    r"\d+\s*(ns|nano|nanos|nanosecond|nanoseconds|us|µs|micro|micros|microsecond|microseconds|ms|milli|"
    r"millis|millisecond|milliseconds|s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hr|hrs|hour|"
    r"hours|d|day|days|w|wk|wks|week|weeks)?"
)


def _matches(pattern: str, flags: re.RegexFlag = re.ASCII) -> Check:
    def check(text: str) -> bool:
        return re.fullmatch(pattern, text, flags) is not None

    return check


def _uuid(version: str, variant: str = _VARIANT) -> Check:
    return _matches(_UUID % (version, variant), re.ASCII | re.IGNORECASE)


def _any(text: str) -> bool:
    return True


def _date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == 10


@lru_cache(maxsize=1024)  # the same moment stands in many objects
def _date_time(text: str) -> bool:
    found = _DATE_TIME.fullmatch(text)
    return found is not None and _date(found[1])


def _byte(text: str) -> bool:
    try:
        gobase64.decode(text)
    except ValueError:
        return False
    return True


def _ip(version: int) -> Check:
    def check(text: str) -> bool:
        import ipaddress  # few schemas need it, and it is slow to load

        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _cidr(text: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "/" in text


def _duration(text: str) -> bool:
    if _SCALA_DURATION.fullmatch(text):
        return True
    try:
        durations.parse(text)
    except TimeError:
        return False
    return True


def _quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except quantity.QuantityError:
        return False
    return True


def _hostname(text: str) -> bool:
    return 0 < len(text) <= 255 and all(
        re.fullmatch(r"[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?", part, re.ASCII)
        for part in text.removesuffix(".").split(".")
    )


def _digits(text: str) -> str:
    return re.sub(r"[\s-]", "", text)


def _isbn10(text: str) -> bool:
    digits = _digits(text)
    if not re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII):
        return False
    return sum((i + 1) * (10 if d == "X" else int(d)) for i, d in enumerate(digits)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = _digits(text)
    if not re.fullmatch(r"\d{13}", digits, re.ASCII):
        return False
    return sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


def _credit_card(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    if not 13 <= len(digits) <= 19:
        return False
    doubled = [int(d) * 2 if i % 2 else int(d) for i, d in enumerate(reversed(digits))]
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


_CHECKS: Final[Mapping[str, Check]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "byte": _byte,
    "cidr": _cidr,
    "creditcard": _credit_card,
    "date": _date,
    "datetime": _date_time,
    "duration": _duration,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _hostname,
    "ipv4": _ip(4),
    "ipv6": _ip(6),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "k8slongname": lambda text: not names.dns1123_subdomain(text),
    "k8sshortname": lambda text: not names.dns1123_label(text),
    "mac": _matches("([0-9a-fA-F]{2}[:-]){5,7}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}[.]){2,3}[0-9a-fA-F]{4}"),
    "password": _any,
    "quantity": _quantity,
    "rgbcolor": _matches(r"rgb\(\s*(\d{1,3}\s*,\s*){2}\d{1,3}\s*\)"),
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": lambda text: _URI.fullmatch(text) is not None,
    "uuid": _uuid(_ANY4, _ANY4),
    "uuid3": _uuid("3[0-9a-f]{3}", _ANY4),
    "uuid4": _uuid("4[0-9a-f]{3}"),
    "uuid5": _uuid("5[0-9a-f]{3}"),
}


def is_known(schema: Obj) -> bool:
    """Whether a schema has a format that is defined for its type."""
    text = schema.get("format")
    if not text:
        return False
    kind = schema.get("type") or ""
    if kind in ("", "string"):
        return text.replace("-", "") in _CHECKS
    return text in _NUMBERS.get(kind, ())


def check_of(text: str) -> Check | None:
    """The check of a string format; None for formats of numbers and for formats that accept any string."""
    found = _CHECKS.get(text.replace("-", ""))
    return None if found is _any else found


def unknown(schema: Obj) -> Iterator[str]:
    """The formats in a schema, and in all schemas inside it, that Kubernetes does not know."""
    if schema.get("format") and not is_known(schema):
        yield schema["format"]
    for group in ("properties", "items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"):
        own = schema.get(group)
        inside = own.values() if group == "properties" and own else own if isinstance(own, list) else [own]
        for each in inside:
            if isinstance(each, dict):
                yield from unknown(each)
