"""How queues share the cluster: Volcano's `proportion` (by weight), or `capacity` (by `spec.deserved`).

`proportion` pours what the cluster has into the queues that have jobs, by weight, until each has what it asks
for or may have. `capacity` gives each queue what it says it deserves and lets it borrow up to its limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from longshore.scheduler.amounts import PODS, Amounts
from longshore.scheduler.gang.model import PENDING, RELEASING, Group, Queue, rest, total

_MINIMAL = Fraction(1, 10)
"""Less than this is no growth: Volcano's tolerance."""


@dataclass(slots=True)
class Sums:
    """What the gangs of one queue have and ask for. Nothing that is zero is named."""

    groups: int = 0
    pods: int = 0
    """Those that have room on nodes."""
    allocated: Amounts = field(default_factory=dict)
    releasing: Amounts = field(default_factory=dict)
    request: Amounts = field(default_factory=dict)
    elastic: Amounts = field(default_factory=dict)
    inqueue: Amounts = field(default_factory=dict)
    reserved: Amounts = field(default_factory=dict)
    """What was promised and is not used yet."""

    def copy(self) -> Sums:
        amounts = (self.allocated, self.releasing, self.request, self.elastic, self.inqueue, self.reserved)
        return Sums(self.groups, self.pods, *map(dict, amounts))

    def add(self, group: Group) -> None:
        self._count(group, 1, _add)

    def subtract(self, group: Group) -> None:
        """Takes back what `add` did, of a group that has not changed since."""
        self._count(group, -1, _subtract)

    def _count(self, group: Group, sign: int, put: Callable[[Amounts, Mapping[str, int]], None]) -> None:
        self.groups += sign
        holding = group.holding
        if group.held_count:
            self.pods += sign * group.held_count
            put(self.allocated, holding)
            put(self.request, holding)
        if group.counts.get(PENDING) or group.counts.get(RELEASING):
            for task in group.tasks.values():
                if task.status == PENDING:
                    put(self.request, task.requests)
                elif task.status == RELEASING and task.node:
                    put(self.releasing, task.requests)
        least = group.min_resources
        if least is None:
            return
        if group.held_count:
            put(self.elastic, rest(holding, least))
        enough = group.held_count >= group.min_member
        if group.phase == "Inqueue" or (group.phase == "Running" and enough):
            unused = rest(least, holding) if group.held_count else least
            put(self.inqueue, unused)
            put(self.reserved, least if group.phase == "Inqueue" else unused)


def together(one: Mapping[str, Sums], other: Mapping[str, Sums]) -> dict[str, Sums]:
    """Both, by queue."""
    found = {name: sums.copy() for name, sums in one.items()}
    for name, more in other.items():
        sums = found.setdefault(name, Sums())
        sums.groups += more.groups
        sums.pods += more.pods
        for part in ("allocated", "releasing", "request", "elastic", "inqueue", "reserved"):
            _add(getattr(sums, part), getattr(more, part))
    return found


def _add(sums: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        if amount:
            sums[name] = sums.get(name, 0) + amount


def _subtract(sums: Amounts, less: Mapping[str, int]) -> None:
    for name, amount in less.items():
        if amount:
            left = sums[name] - amount
            if left:
                sums[name] = left
            else:
                del sums[name]


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
    """The queues above, nearest first, without the root."""
    found: list[Queue] = []
    parent = queues.get(queue.parent)
    while parent is not None and parent.name != "root" and parent not in found:
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
