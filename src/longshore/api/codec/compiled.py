"""The fast reading: each message becomes a msgspec struct, so that C checks and cleans a whole body.

It accepts a subset of what `walk.py` accepts and gives the very same result. For nulls in odd places, unknown
fields, wrong types and zero times it returns None, and the exact reading takes over. How Go's habits are
expressed in struct defaults:

- a plain default is left out again when the value equals it: `omitempty`;
- a default *factory* is always written, so fields without `omitempty` get one;
- a null is only allowed where it means "unset".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import repeat
from typing import Annotated, Any, Final, Optional

import msgspec

from longshore.api import quantity, schema
from longshore.api.codec.canonical import OMIT_ZERO
from longshore.api.codec.jsontext import has_duplicates, is_shallow
from longshore.api.schema import Field, Type
from longshore.api.time import durations, rfc3339
from longshore.api.types import Obj


class _LooksLikeText(type):
    """Lets hooks return plain values: msgspec checks by isinstance what a hook returns."""

    # msgspec calls this for each time and quantity of a body: `type`, always true, is no Python function.
    __instancecheck__ = type  # type: ignore[assignment]


class _Quantity(metaclass=_LooksLikeText):
    pass


class _Time(metaclass=_LooksLikeText):
    pass


class _MicroTime(metaclass=_LooksLikeText):
    pass


class _Duration(metaclass=_LooksLikeText):
    pass


class _Float(metaclass=_LooksLikeText):
    pass


class _Unsupported(Exception):
    """Raised for a message that needs the exact reading (schemas of apiextensions contain themselves)."""


_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_SIMPLE: Final[dict[str, Any]] = {
    "string": str,
    "bool": bool,
    "int32": _Int32,
    "int64": _Int64,
    "float64": _Float,
    "bytes": bytes,
    "Time": _Time,
    "MicroTime": _MicroTime,
    "Quantity": _Quantity,
    "Duration": _Duration,
    "IntOrString": _Int32 | str,
    "Verbs": list[str],
    "FieldsV1": Any,
    "RawExtension": Any,
    "JSON": Any,
}
_ZERO: Final[dict[str, Any]] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "IntOrString": 0,
    "Quantity": "0",
    "Duration": "0s",
}


def _read_quantity(value: Any) -> str:
    if type(value) is str:
        return quantity.canonical(value)
    if type(value) is int:
        return quantity.canonical(str(value))
    raise ValueError


def _read_time(read: Callable[[str], str | None]) -> Callable[[Any], str]:
    def hook(value: Any) -> str:
        text = read(value) if type(value) is str else None
        if text is None:
            raise ValueError
        return text

    return hook


def _read_duration(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    return durations.text(durations.parse(value))


def _read_float(value: Any) -> int | float:
    # Large numbers are written in Go's own notation; leave them to the exact reading.
    if type(value) not in (int, float) or abs(value) > 1e15:
        raise ValueError
    return int(value) if value == int(value) else float(value)


_HOOKS: Final[dict[Any, Callable[[Any], Any]]] = {
    _Quantity: _read_quantity,
    _Time: lru_cache(maxsize=1024)(_read_time(rfc3339.canonical)),  # whole seconds come many times over
    _MicroTime: _read_time(rfc3339.canonical_micro),
    _Duration: _read_duration,
    _Float: _read_float,
}


def _hook(kind: Any, value: Any) -> Any:
    return _HOOKS[kind](value)


def _always(value: Any) -> Callable[[], Any]:
    """A factory that gives the same value each time, at the speed of C."""
    return repeat(value).__next__


@cache
def _struct(message_id: str) -> Any:
    message = schema.message(message_id)
    fields = []
    if message.is_kind:
        fields += [(name, str, msgspec.field(default="", name=name)) for name in ("kind", "apiVersion")]
    for index, f in enumerate(message.fields.values()):
        annotation, default = _field(message_id, f)
        fields.append((f"f{index}", annotation, msgspec.field(name=f.json, **default)))
    # Instances live for one request and hold no cycles.
    return msgspec.defstruct(message.name, fields, omit_defaults=True, forbid_unknown_fields=True, gc=False)


def _field(message_id: str, f: Field) -> tuple[Any, dict[str, Any]]:
    """The annotation of a field and its default."""
    annotation = _annotation(f.type)
    if f.optional:
        # Optional[] rather than |, because the operand may be a special form.
        annotation = Optional[annotation]  # noqa: UP045
        return annotation, {"default": None} if f.omitempty else {"default_factory": _always(None)}
    if f.type.kind == "message":
        return annotation, {"default_factory": _always(annotation())}
    if f.type.kind in ("list", "map"):
        if f.omitempty:
            return annotation, {"default_factory": list if f.type.kind == "list" else dict}
        # An empty list becomes null; that needs the exact reading.
        filled = Annotated[annotation, msgspec.Meta(min_length=1)]  # type: ignore[valid-type]
        return Optional[filled], {"default_factory": _always(None)}  # noqa: UP045
    if f.type.name in ("Time", "MicroTime", "RawExtension"):
        annotation = Optional[annotation]  # noqa: UP045
        omit = (message_id, f.json) in OMIT_ZERO
        return annotation, {"default": None} if omit else {"default_factory": _always(None)}
    if f.type.name not in _ZERO:
        raise _Unsupported(f"{message_id}.{f.json}")
    zero = _ZERO[f.type.name]
    droppable = f.omitempty and f.type.kind == "scalar"
    return annotation, {"default": zero} if droppable else {"default_factory": _always(zero)}


def _annotation(kind: Type) -> Any:
    if kind.kind == "message":
        return _struct(kind.name)
    if kind.kind == "list":
        return list[_annotation(kind.items)]  # type: ignore[misc]
    if kind.kind == "map":
        return dict[str, _annotation(kind.items)]  # type: ignore[misc]
    if kind.name not in _SIMPLE:
        raise _Unsupported(kind.name)
    return _SIMPLE[kind.name]


@cache
def _compiled(message_id: str) -> Any | None:
    try:
        return _struct(message_id)
    except _Unsupported:
        return None


_decode_plain = msgspec.json.Decoder().decode
_convert = msgspec.convert
_to_builtins = msgspec.to_builtins
_REFUSALS: Final = (msgspec.MsgspecError, ValueError, RecursionError)


def from_json(raw: bytes, message_id: str) -> Obj | None:
    """The canonical object with apiVersion and kind where given; None to ask for the exact reading."""
    try:
        value = _decode_plain(raw)
    except _REFUSALS:
        return None
    if has_duplicates(raw, value) or not is_shallow(raw):
        return None
    return from_value(value, message_id)


def from_value(value: Any, message_id: str) -> Obj | None:
    """The canonical object of a document that is parsed already; None to ask for the exact reading."""
    struct = _compiled(message_id)
    if struct is None:
        return None
    try:
        out: Obj = _to_builtins(_convert(value, struct, dec_hook=_hook))
    except _REFUSALS:
        return None
    return out
