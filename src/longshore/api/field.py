"""Field errors in Kubernetes' own words: `spec.x: Invalid value: -1: must be greater than ...`.

A path is a plain string (`spec.template.spec.containers[0].name`); validators build it only where
they descend or complain, so a valid object costs no path building per leaf.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

import msgspec


class _NoValue:
    """Means that no value is printed, as Kubernetes prints none of some structures."""


NO_VALUE: Final = _NoValue()

_TEXT: Final = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueRequired": "Required value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueNotFound": "Not found",
    "FieldValueTypeInvalid": "Invalid value",
    "InternalError": "Internal error",
}
_WITHOUT_VALUE: Final = frozenset(
    ("FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError")
)


class FieldError(msgspec.Struct, frozen=True):
    """One problem of one field. `reason` is the reason of the cause that the API reports."""

    reason: str
    field: str
    value: Any
    detail: str

    def body(self) -> str:
        """The message without the field path, as in `details.causes[].message`."""
        head = _TEXT[self.reason]
        if self.reason not in _WITHOUT_VALUE and self.value is not NO_VALUE:
            head += ": " + cut(shown(self.value))
        return f"{head}: {cut(self.detail)}" if self.detail else head

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


NOT_NEGATIVE: Final = "must be greater than or equal to 0"
IMMUTABLE: Final = "field is immutable"
MAX_LISTED: Final = 100
"""The most problems that one answer lists. Kubernetes has this limit for its strict decoder alone; an answer
with all other problems could be a hundred times as large as its request."""
_MAX_SHOWN_CHARACTERS: Final = 1 << 13
"""Characters of a value or rule in one message. Kubernetes shows all, and a value may have 3 MiB."""


def cut(text: str) -> str:
    """`text`, cut to a length that fits into a message."""
    if len(text) <= _MAX_SHOWN_CHARACTERS:
        return text
    return f"{text[:_MAX_SHOWN_CHARACTERS]}... ({len(text)} characters)"


def shown(value: Any) -> str:
    """A value as Kubernetes prints it in a field error: strings quoted, structures as JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int | float):
        return repr(value)
    return msgspec.json.encode(value).decode()


def quoted(text: str) -> str:
    """Go's %q: double quotes, printable Unicode kept as it is."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = ['"']
    for ch in text:
        if ch in '"\\':
            out.append("\\" + ch)
        elif ch in _SHORT_ESCAPES:
            out.append(_SHORT_ESCAPES[ch])
        elif ch.isprintable():
            out.append(ch)
        elif ord(ch) < 0x80:
            out.append(f"\\x{ord(ch):02x}")
        elif ord(ch) < 0x10000:
            out.append(f"\\u{ord(ch):04x}")
        else:
            out.append(f"\\U{ord(ch):08x}")
    out.append('"')
    return "".join(out)


_SHORT_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def json_text(value: Any) -> str:
    """Compact JSON with Go's escaping of <, > and &."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def diff(old: Any, new: Any) -> str:
    """The difference between two structures, at the end of some refusals of updates: a unified diff of both
    as indented JSON, without the file names."""
    import difflib  # only a refused update pays for it

    before, after = (json.dumps(o, indent=1, sort_keys=True).splitlines() for o in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm=""))
    return "\n".join(lines[2:])


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, value, detail)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, NO_VALUE, detail)


def missing(obj: Mapping[str, Any], path: str, *keys: str) -> list[FieldError]:
    """The problems of an object that lacks these required fields, or has them empty."""
    return [required(f"{path}.{key}") for key in keys if not obj.get(key)]


def named(path: str, value: str, check: Callable[[str], Iterable[str]]) -> list[FieldError]:
    """The problems of a required text for which `check` has rules."""
    return each(path, value, check(value)) if value else [required(path)]


def each(path: str, value: Any, problems: Iterable[str]) -> list[FieldError]:
    """One problem of a value for each of these texts."""
    return [invalid(path, value, text) for text in problems]


def negative(obj: Mapping[str, Any], path: str, *keys: str) -> list[FieldError]:
    """The problems of numbers below zero. A missing number counts as zero."""
    return [invalid(f"{path}.{key}", obj[key], NOT_NEGATIVE) for key in keys if (obj.get(key) or 0) < 0]


def changed(new: Mapping[str, Any], old: Mapping[str, Any], *keys: str) -> list[FieldError]:
    """The problems of fields that must not change. Messages name the fields without their parent."""
    return [invalid(key, new[key], IMMUTABLE) for key in keys if new[key] != old[key]]


def one_of(path: str, value: Any, supported: Collection[str]) -> list[FieldError]:
    """The problem of a value that is not among the supported ones."""
    return [] if value in supported else [not_supported(path, value, supported)]


def chosen(path: str, value: str, supported: Collection[str]) -> list[FieldError]:
    """The problem of a required text that is empty or not supported."""
    return one_of(path, value, supported) if value else [required(path)]


def unsupported(obj: Mapping[str, Any], key: str, path: str, supported: Collection[str]) -> list[FieldError]:
    """The problem of an optional field whose value is not supported."""
    value = obj.get(key)
    return [] if value is None or value in supported else [not_supported(f"{path}.{key}", value, supported)]


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, NO_VALUE, detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, value, "")


def not_found(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", field, value, "")


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """A value that is not supported. `supported` is printed as given; Kubernetes usually sorts it."""
    options = ", ".join(quoted(s) for s in supported)
    detail = f"supported values: {options}" if options else ""
    return FieldError("FieldValueNotSupported", field, value, detail)


def too_long(field: str, limit: int) -> FieldError:
    return FieldError("FieldValueTooLong", field, NO_VALUE, f"may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> FieldError:
    return FieldError("FieldValueTooMany", field, count, f"must have at most {limit} items")


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, value, detail)


def internal(field: str, detail: str) -> FieldError:
    return FieldError("InternalError", field, NO_VALUE, detail)
