"""How queues share the cluster: Volcano's `proportion` (by weight), or `capacity` (by `spec.deserved`).

`proportion` divides the cluster among queues that have jobs, by weight, until each has what it requests or
may have. `capacity` gives each queue its `spec.deserved` and lets it borrow up to its limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from longshore.scheduler.amounts import PODS, Amounts, total
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Branches, Queue
from longshore.scheduler.gang.model.sums import Sums

_TOLERANCE = Fraction(1, 10)
"""A smaller change counts as none: Volcano's tolerance."""
_Shares: TypeAlias = Mapping[str, Mapping[str, Fraction]]
"""Amounts by queue and resource."""


def fill(
    branches: Branches,
    groups: Iterable[Group],
    room: Amounts,
    *,
    by_weight: bool,
    settled: Mapping[str, Sums],
) -> Amounts:
    """Sums up what the queues have and request, and computes what each deserves. Returns the total promised
    to gangs and not used yet. `settled` are sums of settled gangs."""
    queues = branches.queues
    room = {name: amount for name, amount in room.items() if name != PODS}
    found = {name: sums.copy() for name, sums in settled.items() if name in queues}
    for group in groups:
        if group.queue in queues:
            found.setdefault(group.queue, Sums()).add(group)
    busy = {name: queues[name] for name in found}
    for name, queue in busy.items():
        sums = found[name]
        queue.allocated, queue.releasing, queue.request = sums.allocated, sums.releasing, sums.request
        queue.elastic, queue.inqueue = sums.elastic, sums.inqueue
    _set_limits(branches, None, room)
    if by_weight:
        _pour(branches, [*busy.values()], room)
    else:
        for queue in busy.values():
            wished = {**queue.limit, **queue.wished} if queue.wished else dict(queue.guarantee)
            queue.deserved = {name: min(amount, queue.limit.get(name, 0)) for name, amount in wished.items()}
    return total(sums.reserved for sums in found.values())


def _set_limits(branches: Branches, above: Queue | None, room: Amounts) -> None:
    """Sets limits: at most the queue's capability, and its parent's limit minus the guarantees of its
    siblings. What siblings use is not subtracted: otherwise a queue would have nothing to reclaim."""
    queues = branches.children(above)
    guarantees = {queue.name: _guaranteed(branches, queue) for queue in queues}
    all_ = total(guarantees.values())
    for queue in queues:
        own = guarantees[queue.name]
        queue.limit = {
            name: max(amount - all_.get(name, 0) + own.get(name, 0), 0) for name, amount in room.items()
        }
        for name, amount in queue.capability.items():
            queue.limit[name] = min(queue.limit.get(name, 0), amount)
        _set_limits(branches, queue, queue.limit)


def _guaranteed(branches: Branches, queue: Queue) -> Amounts:
    """The guarantee of a queue; at least the sum of its children's."""
    below = total(_guaranteed(branches, each) for each in branches.children(queue))
    return {name: max(queue.guarantee.get(name, 0), below.get(name, 0)) for name in queue.guarantee | below}


def _pour(branches: Branches, queues: list[Queue], room: Amounts) -> None:
    """Divides what is left in rounds, by weight. A queue gets no more than its part of what each ancestor has
    left."""
    remaining = {name: Fraction(amount) for name, amount in room.items()}
    deserved: dict[str, dict[str, Fraction]] = {queue.name: {} for queue in queues}
    met: set[str] = set()
    while True:
        open_ = [queue for queue in queues if queue.name not in met]
        weights = sum(queue.weight for queue in open_)
        if not weights:
            break
        narrow = _left_above(branches, queues, open_, deserved)
        grown = False
        spent: dict[str, Fraction] = {}
        for queue in open_:
            old = deserved[queue.name]
            parts = {name: amount / weights for name, amount in remaining.items()}
            for above in branches.above(queue):
                own = narrow[above.name]
                parts = {name: min(part, own.get(name, part)) for name, part in parts.items()}
            new = {name: old.get(name, Fraction(0)) + part * queue.weight for name, part in parts.items()}
            wanted = {name: min(new[name], Fraction(queue.limit.get(name, 0))) for name in new}
            enough = all(queue.request.get(name, 0) <= wanted[name] for name in new)
            wanted = {
                name: min(amount, Fraction(queue.request.get(name, 0))) for name, amount in wanted.items()
            }
            wanted = {
                name: max(amount, Fraction(queue.guarantee.get(name, 0))) for name, amount in wanted.items()
            }
            change = {name: wanted[name] - old.get(name, Fraction(0)) for name in wanted}
            if enough or all(abs(amount) < _TOLERANCE for amount in change.values()):
                met.add(queue.name)
            grown = grown or any(amount >= _TOLERANCE for amount in change.values())
            deserved[queue.name] = wanted
            for name, amount in change.items():
                spent[name] = spent.get(name, Fraction(0)) + amount
        remaining = {
            name: max(amount - spent.get(name, Fraction(0)), Fraction(0))
            for name, amount in remaining.items()
        }
        if not grown or all(amount < _TOLERANCE for amount in remaining.values()):
            break
    given = _given_below(branches, queues, deserved)
    for queue in queues:
        queue.deserved = {name: int(amount) for name, amount in deserved[queue.name].items()}
        queue.most = dict(queue.deserved)
        for above in branches.above(queue):
            for name in above.capability.keys() & queue.most.keys():
                if above.capability[name] - given[above.name][name] < _TOLERANCE:
                    queue.most[name] = queue.limit[name]  # fractions of a pod's size are lent to siblings


def _left_above(
    branches: Branches, queues: list[Queue], open_: list[Queue], deserved: _Shares
) -> dict[str, dict[str, Fraction]]:
    """The capability that each ancestor has left, per unit of weight below it."""
    given = _given_below(branches, queues, deserved)
    weights: dict[str, int] = {}
    for queue in open_:
        for above in branches.above(queue):
            weights[above.name] = weights.get(above.name, 0) + queue.weight
    return {
        name: {
            resource: max(amount - given[name].get(resource, Fraction(0)), Fraction(0)) / weight
            for resource, amount in branches.queues[name].capability.items()
        }
        for name, weight in weights.items()
    }


def _given_below(
    branches: Branches, queues: list[Queue], deserved: _Shares
) -> dict[str, dict[str, Fraction]]:
    """The sum of the shares of a queue's descendants, by the name of the queue."""
    given: dict[str, dict[str, Fraction]] = {}
    for queue in queues:
        for above in branches.above(queue):
            sums = given.setdefault(above.name, {})
            for name, amount in deserved[queue.name].items():
                sums[name] = sums.get(name, Fraction(0)) + amount
    return given


def share(have: Mapping[str, int], of: Mapping[str, int]) -> float:
    """The dominant share: the largest share of any resource."""
    return max((_part(have.get(name, 0), amount) for name, amount in of.items()), default=0.0)


def _part(have: int, of: int) -> float:
    return have / of if of else (1.0 if have else 0.0)
