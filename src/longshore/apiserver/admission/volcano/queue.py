"""Validates queues against each other: parents exist and have room, and the tree is not too deep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, TypeAlias

from longshore.api import pod_resources, quantity
from longshore.api.defaults.volcano import HIERARCHY
from longshore.api.types import Obj
from longshore.api.validation.volcano import queue as checks
from longshore.apiserver.admission.lookup import Get, List
from longshore.apiserver.admission.volcano import queue_tree

_MAX_DEPTH: Final = 5
_KEPT: Final = ("default", queue_tree.ROOT)
_SHARES: Final = ("guarantee", "deserved")


def validate_create(spec: Obj, obj: Obj, get: Get, every: List) -> str:
    """The first problem of a new queue; empty if there is none."""
    name = obj["metadata"]["name"]
    return _itself(spec, obj, every) or _place(spec, name, get, every) or _room(spec, name, get, every)


def validate_update(spec: Obj, new: Obj, old: Obj, get: Get, every: List) -> str:
    """The first problem of a changed queue; empty if there is none."""
    name, before = new["metadata"]["name"], _spec(old)
    if found := _itself(spec, new, every):
        return found
    moved = spec.get("parent", "") != queue_tree.parent_of(old)
    if moved and (found := _place(spec, name, get, every)):
        return found
    resized = any(_amounts(spec, part) != _amounts(before, part) for part in ("capability", *_SHARES))
    if name == queue_tree.ROOT:
        text = "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"
        return text if resized else ""
    return _room(spec, name, get, every) if moved or resized else ""


def validate_delete(name: str, every: List) -> str:
    """Why a queue may not be deleted; empty if it may."""
    if name in _KEPT:
        return f"`{name}` queue can not be deleted"
    below = [child["metadata"]["name"] for child in queue_tree.children(every, name)]
    if below:
        return f"queue {name} can not be deleted because it has {len(below)} child queues: {', '.join(below)}"
    return ""


def _itself(spec: Obj, obj: Obj, every: List) -> str:
    meta = obj["metadata"]
    annotations = meta.get("annotations") or {}
    others: Iterable[tuple[str, str]] = ()
    if annotations.get(HIERARCHY):
        others = _hierarchies(every, meta["name"])
    return checks.validate(spec, queue_tree.state_of(obj), annotations, others)


def _hierarchies(every: List, but: str) -> Iterable[tuple[str, str]]:
    for queue in every(queue_tree.QUEUES, ""):
        meta = queue["metadata"]
        if meta["name"] != but:
            yield meta["name"], (meta.get("annotations") or {}).get(HIERARCHY, "")


def _place(spec: Obj, name: str, get: Get, every: List) -> str:
    """The problem with the queue's place in the tree; empty if there is none."""
    parent = spec.get("parent", "")
    if parent in ("", queue_tree.ROOT):
        return ""
    if parent == name:
        return f"queue {name} cannot use itself as parent"
    above, depth = parent, 1
    while above not in ("", queue_tree.ROOT):
        depth += 1
        if depth > _MAX_DEPTH:
            return f"queue {name} exceeds the maximum allowed depth of {_MAX_DEPTH}"
        found = queue_tree.get_queue(get, above)
        if found is None:
            return f"failed to get parent queue {above} of queue {name}: {queue_tree.not_found(above)}"
        above = queue_tree.parent_of(found)
    if not queue_tree.children(every, parent) and (
        pods := _allocated_pods(queue_tree.get_queue(get, parent))
    ):
        return (
            f"queue {parent} cannot be the parent queue of queue {name} because it has allocated Pods: {pods}"
        )
    return ""


def _allocated_pods(queue: Obj | None) -> int:
    allocated = ((queue or {}).get("status") or {}).get("allocated") or {}
    return int(quantity.parse(str(allocated.get("pods", "0"))).amount)


def _room(spec: Obj, name: str, get: Get, every: List) -> str:
    """The first conflict of an amount with parents, siblings or children; empty if there is none."""
    parent = spec.get("parent", "")
    if parent not in ("", queue_tree.ROOT):
        above = queue_tree.get_queue(get, parent)
        if above is None:
            return f"parent queue {parent} not found: {queue_tree.not_found(parent)}"
        if found := _below_ancestors(spec, name, get):
            return found
        siblings = [_spec(q) for q in queue_tree.children(every, parent) if q["metadata"]["name"] != name]
        if found := _sums(_spec(above), [*siblings, spec]):
            return f"parent queue {parent} {found}"
    below = queue_tree.children(every, name)
    if not below:
        return ""
    if found := _above_descendants(spec, name, below, every):
        return found
    found = _sums(spec, [_spec(child) for child in below])
    return f"queue {name} {found}" if found else ""


def _below_ancestors(spec: Obj, name: str, get: Get) -> str:
    own = _amounts(spec, "capability")
    for resource in _sizable(own):
        limit = _nearest_limit(spec["parent"], resource, get)
        if limit is not None and own[resource] > limit:
            mine, theirs = _amount_text(resource, own[resource]), _amount_text(resource, limit)
            return f"queue {name} capability[{resource}]={mine} exceeds its ancestor's capability={theirs}"
    return ""


def _nearest_limit(parent: str, resource: str, get: Get) -> Decimal | None:
    """The limit of the nearest ancestor that limits this resource."""
    for _ in range(_MAX_DEPTH):
        queue = None if parent in ("", queue_tree.ROOT) else queue_tree.get_queue(get, parent)
        if queue is None:
            return None
        limit = _amounts(_spec(queue), "capability").get(resource, Decimal(0))
        if limit > 0:
            return limit
        parent = queue_tree.parent_of(queue)
    return None


def _above_descendants(spec: Obj, name: str, below: list[Obj], every: List) -> str:
    own = _amounts(spec, "capability")
    for resource in _sizable(own):
        most = max(_most_below(child, resource, every, _MAX_DEPTH) for child in below)
        if own[resource] < most:
            mine, theirs = _amount_text(resource, own[resource]), _amount_text(resource, most)
            return (
                f"queue {name} capability[{resource}]={mine} is smaller than "
                f"its descendants' max capability={theirs}"
            )
    return ""


def _most_below(queue: Obj, resource: str, every: List, depth: int) -> Decimal:
    """The highest limit in a subtree. Limits below a queue with a limit are not read."""
    own = _amounts(_spec(queue), "capability").get(resource, Decimal(0))
    if own > 0 or not depth:
        return own
    below = queue_tree.children(every, queue["metadata"]["name"])
    return max((_most_below(child, resource, every, depth - 1) for child in below), default=Decimal(0))


def _sums(parent: Obj, below: list[Obj]) -> str:
    """Adds up the children's shares one by one; returns the first sum that exceeds the parent's share."""
    limits = {part: _amounts(parent, part) for part in _SHARES}
    totals = {part: _counted(None) for part in _SHARES}
    for spec in below:
        for part in _SHARES:
            totals[part] = _sum(totals[part], _amounts(spec, part))
            if _exceeds(totals[part], limits[part]):
                return (
                    f"validation failed: sum of children's {part} ({_amounts_text(totals[part])}) "
                    f"exceeds parent's {part} limit ({_amounts_text(limits[part])})"
                )
    return ""


def _spec(queue: Obj) -> Obj:
    spec: Obj = queue.get("spec") or {}
    return spec


def _amounts(spec: Obj, part: str) -> Amounts:
    resources = spec.get(part)
    if part == "guarantee":
        resources = (resources or {}).get("resource")
    return _counted({name: str(amount) for name, amount in (resources or {}).items()})


# ---- Amounts of resources as Volcano's scheduler counts and prints them.
#
# Processors in thousandths, memory in bytes, everything else ("scalars") in thousandths, except pods.

Amounts: TypeAlias = dict[str, Decimal]

_MIN_AMOUNT: Final = Decimal("0.1")  # anything less counts as nothing
_THOUSAND: Final = Decimal(1000)
_WHOLE: Final = frozenset(("memory", "pods"))


def _counted(resources: Mapping[str, str] | None) -> Amounts:
    """The amounts of a resource list; names the scheduler does not know are left out."""
    found: Amounts = {"cpu": Decimal(0), "memory": Decimal(0)}
    for name, text in (resources or {}).items():
        if name in ("cpu", "memory", "pods", "ephemeral-storage") or _is_scalar(name):
            amount = quantity.parse(text).amount
            found[name] = amount if name in _WHOLE else amount * _THOUSAND
    return found


def _is_scalar(name: str) -> bool:
    return name.startswith(("hugepages-", "attachable-volumes-")) or pod_resources.is_extended(name)


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, Decimal(0)) + other.get(name, Decimal(0)) for name in {**one, **other}}


def _exceeds(amounts: Amounts, limit: Amounts) -> bool:
    """Whether an amount is above its limit. A missing limit is zero."""
    return any(amount > limit.get(name, Decimal(0)) for name, amount in amounts.items())


def _sizable(amounts: Amounts) -> list[str]:
    """The names of resources whose amount is at least `_MIN_AMOUNT`."""
    return [name for name, amount in amounts.items() if amount >= _MIN_AMOUNT]


def _amounts_text(amounts: Amounts) -> str:
    """`cpu 1000.00, memory 0.00`, followed by the scalars."""
    scalars = sorted(name for name in amounts if name not in ("cpu", "memory"))
    return ", ".join(f"{name} {amounts[name]:.2f}" for name in ("cpu", "memory", *scalars))


def _amount_text(name: str, amount: Decimal) -> str:
    """One amount as error messages about a single resource show it."""
    if name == "cpu":
        return str(quantity.Quantity(amount / _THOUSAND, "DecimalSI"))
    if name == "memory":
        return str(quantity.Quantity(Decimal(int(amount)), "BinarySI"))
    return f"{amount:.2f}"
