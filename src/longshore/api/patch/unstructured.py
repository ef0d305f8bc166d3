"""Checks whether a JSON value can become a Go struct, with the errors of Kubernetes' converter.

The result of a strategic merge patch or an apply is a value and no text, so upstream converts it instead of
decoding it, with other errors. Only types are checked here; decoding does the rest.
"""

from __future__ import annotations

from typing import Any

from longshore.api import gotext, schema

_KINDS = {bool: "bool", str: "string", int: "int64", float: "float64", dict: "map", list: "slice"}


def problem_of(value: Any, message_id: str) -> str:
    """The first field of a wrong type, in the order of the struct; empty when there is none."""
    return _message(value, schema.message(message_id))


def _message(value: Any, message: schema.Message) -> str:
    if value is None:
        return ""
    if type(value) is not dict:
        return f"cannot restore struct from: {_KINDS[type(value)]}"
    for field in message.fields.values():
        inner = value.get(field.json)
        if inner is not None and (problem := _value(inner, field.type, field.go_type)):
            return problem
    return ""


def _value(value: Any, type_: schema.Type, go_type: str) -> str:
    if value is None:
        return ""
    if type_.kind == "message":
        return _message(value, schema.message(type_.name))
    if type_.kind == "list":
        if type(value) is not list:
            return f"cannot restore slice from {_KINDS[type(value)]}"
        return next((p for item in value if (p := _value(item, type_.items, ""))), "")
    if type_.kind == "map":
        if type(value) is not dict:
            return f"cannot restore map from {_KINDS[type(value)]}"
        return next((p for item in value.values() if (p := _value(item, type_.items, ""))), "")
    return _scalar(value, type_.name, go_type) if type_.kind == "scalar" else ""


def _scalar(value: Any, name: str, go_type: str) -> str:
    if name == "bytes":
        return "" if type(value) is str else f"cannot restore slice from {_KINDS[type(value)]}"
    found = gotext.type_name(value)
    if found == name or (found == "int64" and name in ("int32", "float64")):
        return ""
    number = type(value) in (int, float)
    if number and name in ("int32", "int64"):
        return "" if value == int(value) else f"cannot convert {found} to {name}"
    if type(value) is int and name == "string":
        # Go can turn a number into the letter with that code, and upstream has to refuse it by hand.
        return f"cannot convert int64 to {go_type or name}"
    return f"unrecognized type: {name}"
