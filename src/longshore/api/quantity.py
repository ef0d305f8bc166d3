"""Resource quantities (`500m`, `1Gi`, `1e3`): parsing, exact arithmetic, and the one canonical text.

A quantity remembers which family of suffixes it was written in (decimal, binary, exponent) and is
written back in that family with the largest suffix that needs no fraction. Values finer than a
nano-unit are rounded up. Amounts are exact decimals, never floats.

`canonical` also keeps two habits of Kubernetes that look like accidents but are visible to clients:
text that already seems canonical by a cheap test is returned as it stands (`+5`, `1.500`), and a
decimal amount above the largest suffix loses its exponent. Text of more than 400 characters is refused.
"""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from longshore.api.types import Obj

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_FORMAT_WRONG: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_BAD_SUFFIX: Final = "unable to parse quantity's suffix"

_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {exponent // 10: suffix for suffix, exponent in _BINARY.items()}

_SHAPE: Final = re.compile(r"([+-]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?+[0-9]*+)", re.ASCII)
_MAX: Final = Decimal(2**63 - 1)
_NANO: Final = Decimal("1e-9")
_MAX_DIGITS: Final = 18
"""Digits of a number that fits into 64 bits. A longer number may not keep the text it was given."""
_MAX_CHARACTERS: Final = 400
_EXACT: Final = Context(prec=2 * _MAX_CHARACTERS, Emax=MAX_EMAX, Emin=MIN_EMIN)


class QuantityError(ValueError):
    """The text is not a quantity; the message is Kubernetes' own."""


class Quantity(NamedTuple):
    """An exact amount and the family of suffixes it is written in."""

    amount: Decimal
    format: Format

    def __str__(self) -> str:
        return _text(self.amount, self.format)


class _Parsed(NamedTuple):
    quantity: Quantity
    reusable: bool
    """Whether the text passed Kubernetes' cheap test for being canonical already."""


def parse(text: str | int) -> Quantity:
    """The quantity that `text` stands for; QuantityError if it is none.

    Kinds with a structural schema (Volcano's) keep `cpu: 1` as a whole number.
    """
    return _parse(text if isinstance(text, str) else str(text)).quantity


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The text Kubernetes would write back for `text`; QuantityError if it is no quantity."""
    parsed = _parse(text)
    return text if parsed.reusable else str(parsed.quantity)


@lru_cache(maxsize=4096)
def _parse(text: str) -> _Parsed:
    match = _SHAPE.fullmatch(text)
    if match is None or not text or len(text) > _MAX_CHARACTERS:
        raise QuantityError(_FORMAT_WRONG)
    sign, _, digits, fraction, suffix = match.groups()
    digits, fraction = digits or "0", fraction or ""
    fmt, exponent = _interpret(suffix)
    shifted = digits + fraction
    if fmt == "BinarySI":
        fits = not fraction and 15 - len(digits) - int(exponent * 3 / 10) - 1 >= 0
        amount = _EXACT.multiply(Decimal(f"{digits}.{fraction}"), Decimal(2**exponent))
        reusable = fits and int(digits) & 0x07 != 0
    else:
        scale = exponent - len(fraction)
        fits = len(shifted) <= _MAX_DIGITS and scale >= -9
        amount = Decimal(shifted).scaleb(scale, _EXACT)
        reusable = fits and scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
    if not fits:
        amount = amount.quantize(_NANO, ROUND_UP, _EXACT) if _finer_than_nano(amount) else amount
        if fmt == "BinarySI":
            amount = min(amount, _MAX)
            if 0 < amount < 1:
                fmt = "DecimalSI"
    return _Parsed(Quantity(-amount if sign == "-" and amount else amount, fmt), reusable)


def _interpret(suffix: str) -> tuple[Format, int]:
    if suffix in _DECIMAL:
        return "DecimalSI", _DECIMAL[suffix]
    if suffix in _BINARY:
        return "BinarySI", _BINARY[suffix]
    if suffix[:1] in ("e", "E") and re.fullmatch(r"[-+]?[0-9]{1,18}", suffix[1:]):
        # Beyond this the exponent overflows 32 bits, and no such amount means anything.
        return "DecimalExponent", max(-(2**31), min(2**31 - 1, int(suffix[1:])))
    raise QuantityError(_BAD_SUFFIX)


def _finer_than_nano(amount: Decimal) -> bool:
    exponent = amount.as_tuple().exponent
    return isinstance(exponent, int) and exponent < -9


def _text(amount: Decimal, fmt: Format) -> str:
    if not amount:
        return "0"
    if fmt == "BinarySI" and (abs(amount) < 1024 or amount != amount.to_integral_value()):
        fmt = "DecimalSI"
    if fmt == "BinarySI":
        number, power = int(amount), 0
        while number % 1024 == 0:
            number //= 1024
            power += 1
        return f"{number}{_BINARY_SUFFIX.get(power, '')}"
    negative, digits, exponent = amount.as_tuple()
    assert isinstance(exponent, int)
    mantissa = "".join(map(str, digits)).lstrip("0")
    exponent += len(mantissa) - len(mantissa.rstrip("0"))
    mantissa = mantissa.rstrip("0") + "0" * (exponent % 3)
    exponent -= exponent % 3
    if fmt == "DecimalExponent":
        suffix = f"e{exponent}" if exponent else ""
    else:
        suffix = _DECIMAL_SUFFIX.get(exponent, "")
    return f"{'-' if negative else ''}{mantissa}{suffix}"


def compare(a: str, b: str) -> int:
    """-1, 0 or 1, as `a` is less than, equal to or greater than `b`."""
    x, y = parse(a).amount, parse(b).amount
    return (x > y) - (x < y)


def is_zero(text: str) -> bool:
    return not parse(text).amount


def add(a: str, b: str) -> str:
    """The sum, in the format of `a` (of `b` when `a` is zero)."""
    x, y = parse(a), parse(b)
    return _text(_EXACT.add(x.amount, y.amount), x.format if x.amount else y.format)


def subtract(a: str, b: str) -> str:
    """The difference, in the format of `a` (of `b` when `a` is zero)."""
    x, y = parse(a), parse(b)
    return _text(_EXACT.subtract(x.amount, y.amount), x.format if x.amount else y.format)


def value(text: str) -> int:
    """The amount in whole units, rounded away from zero."""
    return _scaled(text, 0)


def milli_value(text: str) -> int:
    """The amount in thousandths, rounded away from zero."""
    return _scaled(text, 3)


def _scaled(text: str, places: int) -> int:
    amount = parse(text).amount
    if amount.adjusted() > 30:
        return 2**63 - 1 if amount > 0 else -(2**63)
    return int(amount.scaleb(places, _EXACT).to_integral_value(ROUND_UP))


def ceiling_to_milli(text: str) -> str:
    """Canonical text, with anything finer than a thousandth rounded up (as resource lists are)."""
    amount, fmt = parse(text)
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent >= -3:
        return canonical(text)
    rounding = ROUND_CEILING if amount >= 0 else ROUND_UP
    return _text(amount.quantize(Decimal("0.001"), rounding, _EXACT), fmt)


# ---- Amounts finer than a thousandth are rounded up where they enter, so all later sums are in thousandths.


def round_up(resources: Obj) -> None:
    """Rounds the `limits` and `requests` of a container, pod or claim up to thousandths."""
    if limits := resources.get("limits"):
        round_up_list(limits)
    if requests := resources.get("requests"):
        round_up_list(requests)


def round_up_list(amounts: dict[str, str]) -> None:
    for name, text in amounts.items():
        if text[-1:] in "un" or "." in text or "e-" in text or "E-" in text:
            rounded = ceiling_to_milli(text)
            if rounded != text:
                amounts[name] = rounded
