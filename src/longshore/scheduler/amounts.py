"""Requests of pods and capacities of nodes as whole numbers: thousandths of a cpu, bytes, pieces.

Whole numbers instead of quantities, because a scheduler compares them thousands of times a second; they are
parsed once per shape of pod and once per change of a node. Also formats them for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, TypeAlias

from longshore.api import pod_resources, quantity
from longshore.api.types import Obj

Amounts: TypeAlias = dict[str, int]

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
UNASKED_CPU: Final = 100
UNASKED_MEMORY: Final = 200 * 1024 * 1024
"""The request assumed for a container without one when nodes are compared, as upstream does."""
_BYTES: Final = (MEMORY, STORAGE)
_UNITS: Final = ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))


def number(name: str, text: object) -> int:
    """An amount: thousandths for cpu, else whole units. Custom resources may hold numbers, not text."""
    return quantity.milli_value(str(text)) if name == CPU else quantity.value(str(text))


def parse(amounts: Mapping[str, object] | None) -> Amounts:
    return {name: number(name, text) for name, text in (amounts or {}).items()}


def requests(spec: Obj) -> Amounts:
    """The amounts that a pod with this spec takes from a node, without zeros."""
    return {name: n for name, n in parse(pod_resources.pod_requests(spec)).items() if n}


def unasked(spec: Obj) -> tuple[int, int]:
    """cpu and memory by which nodes are compared: a container without requests counts with defaults."""
    cpu = memory = 0
    for container in spec.get("containers") or ():
        asked = (container.get("resources") or {}).get("requests") or {}
        cpu += number(CPU, asked[CPU]) if CPU in asked else UNASKED_CPU
        memory += number(MEMORY, asked[MEMORY]) if MEMORY in asked else UNASKED_MEMORY
    return cpu, memory


def total(parts: Iterable[Mapping[str, int]]) -> Amounts:
    found: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found.get(name, 0) + amount
    return found


def rest(amounts: Mapping[str, int], less: Mapping[str, int]) -> Amounts:
    """The first amounts minus the second, never below zero."""
    return {name: max(amount - less.get(name, 0), 0) for name, amount in amounts.items()}


def lacking(asked: Mapping[str, int], room: Mapping[str, int], names: Iterable[str]) -> list[str]:
    """The resources among `names` of which more is asked than available, cpu and memory first."""
    short = [name for name in names if asked.get(name, 0) > room.get(name, 0)]
    return sorted(short, key=lambda name: (name != CPU, name != MEMORY, name))


def words(name: str, amount: int) -> str:
    """The amount with its resource: `1.5 cpu`, `512Mi memory`, `2 example.com/gpu`."""
    return f"{bare(name, amount)} {name}"


def bare(name: str, amount: int) -> str:
    """The amount alone, in the unit that people use for it."""
    if name == CPU:
        return f"{(Decimal(amount) / 1000).normalize():f}"
    if name in _BYTES or name.startswith(pod_resources.HUGE_PAGES):
        for size, suffix in _UNITS:
            if abs(amount) >= size:
                return f"{amount / size:.4g}{suffix}"
    return str(amount)


def text(name: str, amount: int) -> str:
    """The amount as a Kubernetes quantity."""
    if name == CPU:
        return quantity.canonical(f"{amount}m")
    if name in _BYTES or name.startswith(pod_resources.HUGE_PAGES):
        for size, suffix in _UNITS:
            if amount and amount % size == 0:
                return f"{amount // size}{suffix}"
    return str(amount)
