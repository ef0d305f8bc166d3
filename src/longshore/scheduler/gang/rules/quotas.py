"""`resourcequota`: a gang is let in only if its namespace's quotas have room for its minimum.

Without it the pods of a gang that a quota cuts short are made in part, and wait for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from longshore.api import quantity
from longshore.api.types import Obj


class Quotas:
    """The quotas of all namespaces, and what gangs were promised of them in this cycle."""

    def __init__(self, objects: Iterable[Obj]) -> None:
        self._of: dict[str, list[Obj]] = {}
        for obj in objects:
            if not (obj.get("spec") or {}).get("scopes"):
                self._of.setdefault(obj["metadata"]["namespace"], []).append(obj)
        self._promised: dict[str, dict[str, Decimal]] = {}

    def lacking(self, group: Obj) -> list[str]:
        """The resources that some quota has too little of for the minimum of a PodGroup."""
        namespace = group["metadata"]["namespace"]
        promised = self._promised.get(namespace, {})
        short: list[str] = []
        for quota in self._of.get(namespace, ()):
            hard = (quota.get("status") or {}).get("hard") or quota["spec"].get("hard") or {}
            used = (quota.get("status") or {}).get("used") or {}
            for name, amount in _wanted(group).items():
                if name not in hard:
                    continue
                taken = _amount(used.get(name, "0")) + promised.get(name, Decimal(0))
                if taken + amount > _amount(hard[name]) and name not in short:
                    short.append(name)
        return short

    def promise(self, group: Obj) -> None:
        """The gang is let in: what it needs is no longer there for others."""
        namespace = group["metadata"]["namespace"]
        if namespace not in self._of:
            return
        promised = self._promised.setdefault(namespace, {})
        for name, amount in _wanted(group).items():
            promised[name] = promised.get(name, Decimal(0)) + amount


def _wanted(group: Obj) -> dict[str, Decimal]:
    least = (group.get("spec") or {}).get("minResources") or {}
    return {name: _amount(amount) for name, amount in least.items()}


def _amount(text: object) -> Decimal:
    return Decimal(quantity.parse(str(text)).amount)
