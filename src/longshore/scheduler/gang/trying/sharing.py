"""How queues share the cluster: Volcano's `proportion` (by weight), or `capacity` (by `spec.deserved`).

`proportion` pours what the cluster has into the queues that have jobs, by weight, until each has what it asks
for or may have. `capacity` gives each queue what it says it deserves and lets it borrow up to its limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from longshore.scheduler.amounts import PODS, Amounts, rest, total
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.sums import Sums

_MINIMAL = Fraction(1, 10)
"""Less than this is no growth: Volcano's tolerance."""


def fill(
    queues: Mapping[str, Queue],
    groups: Iterable[Group],
    room: Amounts,
    *,
    by_weight: bool,
    settled: Mapping[str, Sums],
) -> Amounts:
    """Counts what the queues have and ask for, and works out what each deserves. Returns what was promised to
    gangs, all in all, and is not used yet. `settled` are gangs that are added up already."""
    room = {name: amount for name, amount in room.items() if name != PODS}
    guaranteed = total(queue.guarantee for queue in queues.values())
    found = {name: sums.copy() for name, sums in settled.items() if name in queues}
    for group in groups:
        if group.queue in queues:
            found.setdefault(group.queue, Sums()).add(group)
    busy = {name: queues[name] for name in found}
    for name, queue in busy.items():
        sums = found[name]
        queue.allocated, queue.releasing, queue.request = sums.allocated, sums.releasing, sums.request
        queue.elastic, queue.inqueue = sums.elastic, sums.inqueue
    for queue in queues.values():
        own = queue.guarantee
        queue.limit = {
            name: max(amount - guaranteed.get(name, 0) + own.get(name, 0), 0) for name, amount in room.items()
        }
        for name, amount in queue.capability.items():
            queue.limit[name] = min(queue.limit.get(name, 0), amount)
    _under_parents(queues)
    if by_weight:
        _pour([*busy.values()], room)
    else:
        for queue in busy.values():
            wished = {**queue.limit, **queue.wished} if queue.wished else dict(queue.guarantee)
            queue.deserved = {name: min(amount, queue.limit.get(name, 0)) for name, amount in wished.items()}
    return total(sums.reserved for sums in found.values())


def _under_parents(queues: Mapping[str, Queue]) -> None:
    """A queue may never have more than any queue above it, less what its siblings have."""
    used: dict[str, Amounts] = {}
    for queue in queues.values():
        for above in ancestors(queue, queues):
            used[above.name] = total((used.get(above.name, {}), queue.allocated))
    for queue in queues.values():
        for above in ancestors(queue, queues):
            others = rest(used.get(above.name, {}), queue.allocated)
            for name, amount in above.capability.items():
                left = max(amount - others.get(name, 0), 0)
                queue.limit[name] = min(queue.limit.get(name, left), left)


def ancestors(queue: Queue, queues: Mapping[str, Queue]) -> list[Queue]:
    """The queues above, nearest first, without the root. The API lets queues be each other's parents: of such
    a circle none is above another."""
    found: list[Queue] = []
    parent = queues.get(queue.parent)
    while parent is not None and parent.name != "root" and parent not in found:
        if parent is queue:
            return []
        found.append(parent)
        parent = queues.get(parent.parent)
    return found


def _pour(queues: list[Queue], room: Amounts) -> None:
    remaining = {name: Fraction(amount) for name, amount in room.items()}
    deserved: dict[str, dict[str, Fraction]] = {queue.name: {} for queue in queues}
    met: set[str] = set()
    while True:
        weights = sum(queue.weight for queue in queues if queue.name not in met)
        if not weights:
            break
        grown = False
        spent: dict[str, Fraction] = {}
        for queue in queues:
            if queue.name in met:
                continue
            old = deserved[queue.name]
            new = {
                name: old.get(name, Fraction(0)) + amount * queue.weight / weights
                for name, amount in remaining.items()
            }
            wanted = {name: min(new[name], Fraction(queue.limit.get(name, 0))) for name in new}
            enough = all(queue.request.get(name, 0) <= wanted[name] for name in new)
            wanted = {
                name: min(amount, Fraction(queue.request.get(name, 0))) for name, amount in wanted.items()
            }
            wanted = {
                name: max(amount, Fraction(queue.guarantee.get(name, 0))) for name, amount in wanted.items()
            }
            change = {name: wanted[name] - old.get(name, Fraction(0)) for name in wanted}
            if enough or all(abs(amount) < _MINIMAL for amount in change.values()):
                met.add(queue.name)
            grown = grown or any(amount >= _MINIMAL for amount in change.values())
            deserved[queue.name] = wanted
            for name, amount in change.items():
                spent[name] = spent.get(name, Fraction(0)) + amount
        remaining = {
            name: max(amount - spent.get(name, Fraction(0)), Fraction(0))
            for name, amount in remaining.items()
        }
        if not grown or all(amount < _MINIMAL for amount in remaining.values()):
            break
    for queue in queues:
        queue.deserved = {name: int(amount) for name, amount in deserved[queue.name].items()}


def share(have: Mapping[str, int], of: Mapping[str, int]) -> float:
    """The largest part of any resource."""
    return max((_part(have.get(name, 0), amount) for name, amount in of.items()), default=0.0)


def _part(have: int, of: int) -> float:
    return have / of if of else (1.0 if have else 0.0)
