"""JSON values as Go's fmt package prints them, for error texts that carry a value.

Only what decoded JSON can hold: null, booleans, numbers, strings, arrays, objects.
"""

from __future__ import annotations

from typing import Any

from longshore.api import field


def plain(value: Any) -> str:
    """Go's `%v`: `map[a:1 b:[x y]]`, keys sorted, strings bare."""
    if value is None:
        return "<nil>"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, dict):
        return "map[" + " ".join(f"{k}:{plain(value[k])}" for k in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(plain(v) for v in value) + "]"
    return str(value)


def syntax(value: Any) -> str:
    """Go's `%#v`: the value as a Go expression."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return field.quoted(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{field.quoted(k)}:{syntax(value[k])}" for k in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(syntax(v) for v in value)}}}"
    return plain(value)


def type_name(value: Any) -> str:
    """Go's `%T`: the type `encoding/json` gives a value, with whole numbers kept as int64."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    return "map[string]interface {}" if isinstance(value, dict) else "[]interface {}"


def _float(value: float) -> str:
    """Go's shortest `%g`: an exponent of two digits or more below 1e-04 and from 1e+06 on."""
    digits, _, power = f"{value:.16e}".partition("e")
    for precision in range(17):
        text = f"{value:.{precision}e}"
        if float(text) == value:
            digits, _, power = text.partition("e")
            break
    exponent = int(power)
    if exponent < -4 or exponent >= 6:
        return f"{digits}e{exponent:+03d}"
    return f"{value:.{max(0, len(digits.lstrip('-').replace('.', '')) - 1 - exponent)}f}"
