"""The node's capacity: the machine's, or as declared (`cpu=4,memory=8Gi,example.com/gpu=2`).

Amounts are quantities in Kubernetes' text. Declared ones replace the machine's one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from longshore.api import label_syntax, quantity

PODS: Final = 500
"""Upstream's 110 is for pods with network interfaces and cgroups; pods here are processes."""
_NATIVE: Final = ("cpu", "memory", "ephemeral-storage", "pods")


class BadCapacity(ValueError):
    """A node's capacity is declared as `cpu=4,memory=8Gi,example.com/gpu=2`: names and amounts."""


class Capacity(msgspec.Struct, frozen=True):
    """`amounts` by resource name; cpu, memory, ephemeral-storage and pods are always there."""

    amounts: Mapping[str, str] = msgspec.field(default_factory=dict)

    def number(self, name: str) -> int:
        """The amount of a resource, cpu in thousandths; 0 for a resource that the node does not have."""
        amount = self.amounts.get(name)
        return 0 if amount is None else number(name, amount)


def number(name: str, amount: str) -> int:
    return quantity.milli_value(amount) if name == "cpu" else quantity.value(amount)


def parse(text: str) -> dict[str, str]:
    """The amounts of `cpu=4,memory=8Gi`. Raises BadCapacity, which says what is wrong with which part."""
    found: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, amount = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise BadCapacity(f"{part!r}: expected NAME=AMOUNT, e.g. cpu=4 or memory=8Gi")
        if name not in _NATIVE and (problems := _wrong(name)):
            raise BadCapacity(f"{name!r}: {problems}")
        try:
            parsed = quantity.parse(amount)
        except quantity.QuantityError as err:
            raise BadCapacity(f"{name}={amount}: {err}") from None
        if parsed.amount < 0:
            raise BadCapacity(f"{name}={amount}: must not be negative")
        if name in found:
            raise BadCapacity(f"{name} is given twice")
        found[name] = quantity.canonical(amount)
    return found


def _wrong(name: str) -> str:
    if "/" not in name and not name.startswith("hugepages-"):
        native = ", ".join(_NATIVE)
        return f"no resource of a node; native ones are {native}, others have a domain: example.com/gpu"
    return "; ".join(label_syntax.qualified_name(name))
