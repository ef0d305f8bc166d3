"""Amounts of resources as Volcano's scheduler counts and prints them.

Processors in thousandths, memory in bytes, everything else ("scalars") in thousandths, except pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, TypeAlias

from longshore.api import pod_resources, quantity

Amounts: TypeAlias = dict[str, Decimal]

_SMALLEST: Final = Decimal("0.1")  # anything less counts as nothing
_THOUSAND: Final = Decimal(1000)
_WHOLE: Final = frozenset(("memory", "pods"))


def read(resources: Mapping[str, str] | None) -> Amounts:
    """The amounts of a resource list; names the scheduler does not know are left out."""
    found: Amounts = {"cpu": Decimal(0), "memory": Decimal(0)}
    for name, text in (resources or {}).items():
        if name in ("cpu", "memory", "pods", "ephemeral-storage") or _is_scalar(name):
            amount = quantity.parse(text).amount
            found[name] = amount if name in _WHOLE else amount * _THOUSAND
    return found


def _is_scalar(name: str) -> bool:
    return name.startswith(("hugepages-", "attachable-volumes-")) or pod_resources.is_extended(name)


def added(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, Decimal(0)) + other.get(name, Decimal(0)) for name in {**one, **other}}


def exceeds(amounts: Amounts, limit: Amounts) -> bool:
    """Whether some amount is above its limit; an unnamed limit is zero."""
    return any(amount > limit.get(name, Decimal(0)) for name, amount in amounts.items())


def named(amounts: Amounts) -> list[str]:
    """The names of resources whose amount is at least `_SMALLEST`."""
    return [name for name, amount in amounts.items() if amount >= _SMALLEST]


def shown(amounts: Amounts) -> str:
    """`cpu 1000.00, memory 0.00`, followed by the scalars."""
    scalars = sorted(name for name in amounts if name not in ("cpu", "memory"))
    return ", ".join(f"{name} {amounts[name]:.2f}" for name in ("cpu", "memory", *scalars))


def shown_one(name: str, amount: Decimal) -> str:
    """One amount as error messages about a single resource show it."""
    if name == "cpu":
        return str(quantity.Quantity(amount / _THOUSAND, "DecimalSI"))
    if name == "memory":
        return str(quantity.Quantity(Decimal(int(amount)), "BinarySI"))
    return f"{amount:.2f}"
