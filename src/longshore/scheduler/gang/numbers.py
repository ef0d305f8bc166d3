"""Why a gang waits, in one line of numbers: what it needs, what its queue has left, what the nodes can take.

Only for people and `longshore why`. Conditions and events keep Volcano's words, which tools compare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from longshore.machinery.reasons import Number, Reason
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts, lacking, total
from longshore.scheduler.fitting import filters
from longshore.scheduler.fitting.pod_shape import Shape
from longshore.scheduler.fitting.verdict import Refusal
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import PENDING, PIPELINED, Task
from longshore.scheduler.gang.trying.trial import Trial

_FULL = ("Insufficient ", "Too many pods")
"""Prefixes of reasons that mean that a node only lacks room."""
Asked = tuple[tuple[str, int], ...]
Known = dict[Asked | Shape, tuple[int, int]]
"""The capacity of nodes for a request, computed once for all gangs with equal requests."""


def note(trial: Trial, groups: Iterable[Group]) -> None:
    """Adds the line, as the first note, to each of these gangs that lacks its minimum."""
    known: Known = {}
    for group in groups:
        if not group.has_minimum and (told := _line(trial, group, known)) is not None:
            group.notes.insert(0, told)


def _line(trial: Trial, group: Group, known: Known) -> Reason | None:
    """The line: `needs 8 × 2 cpu, queue gpu has 6 cpu left, 1 node fits 3`."""
    tasks = [task for task in group.in_status(PENDING, PIPELINED) if not task.best_effort]
    example: Task | None = None
    if tasks:
        shapes = Counter(_shape(task.requests) for task in tasks)
        if len(shapes) == 1:
            missing = group.min_member - group.ready_count
            shapes = Counter({shape: min(count, max(missing, 1)) for shape, count in shapes.items()})
        example = next((task for task in tasks if task.pod.uid in group.misfits), tasks[0])
        one = example.requests
        asked = total({name: amount * count for name, amount in shape} for shape, count in shapes.items())
        needs = ", ".join(f"{count} × {_words(dict(shape))}" for shape, count in shapes.items())
    elif group.min_resources and group.phase in ("", "Pending"):
        asked, count = group.min_resources, max(group.min_member, 1)
        one = {name: amount // count for name, amount in asked.items()}
        even = len(group.min_roles) < 2 and not any(amount % count for amount in asked.values())
        needs = f"{count} × {_words(one)}" if even else f"{_words(asked)} for {count} pods"
        if not even:
            one = {}
    else:
        return None
    numbers: dict[str, Number] = {name: amounts.bare(name, amount) for name, amount in asked.items()}
    numbers |= {"needs": needs, "queue": group.queue, "left": _left(trial, group, asked)}
    if one:
        key = _shape(one) if example is None else example.pod.shape
        if key not in known:
            known[key] = _fit(trial, one, example)
        nodes, pods = known[key]
        numbers |= {"nodes": nodes, "pods": pods}
        if example is not None and len(shapes) > 1:
            numbers["one"] = _words(one)
    return Reason("GangWaits", numbers)


def _left(trial: Trial, group: Group, asked: Amounts) -> str:
    """The amounts left in the queue, of the resources that are short or, if none is, of all that are
    requested."""
    queue, branches = trial.queues[group.queue], trial.limits.branches
    count = branches.promised if group.phase in ("", "Pending") else branches.allocated
    lefts = [
        {name: max(each.limit.get(name, 0) - count(each).get(name, 0), 0) for name in asked}
        for each in (queue, *branches.above(queue))
    ]
    left = {name: min(each[name] for each in lefts) for name in asked}
    shown = lacking(asked, left, asked) or list(asked)
    return _words({name: left[name] for name in shown})


def _fit(trial: Trial, one: Mapping[str, int], task: Task | None) -> tuple[int, int]:
    """How many nodes take at least one such pod, and how many pods they take together."""
    context = trial.rooms.context(task) if task is not None else None
    if isinstance(context, Refusal):
        return 0, 0
    nodes = pods = 0
    for room in trial.rooms:
        takes = min(room.node.left(name) // amount for name, amount in one.items() if amount)
        takes = min(takes, room.node.left(amounts.PODS))
        if takes > 0 and task is not None and context is not None:
            failure = filters.check(task.pod, room.node, context)
            if failure is not None and any(not reason.startswith(_FULL) for reason in failure.reasons):
                continue
        if takes > 0:
            nodes, pods = nodes + 1, pods + takes
    return nodes, pods


def _shape(requests: Mapping[str, int]) -> Asked:
    return tuple(sorted(requests.items(), key=lambda item: (item[0] != amounts.CPU, item[0])))


def _words(found: Mapping[str, int]) -> str:
    return " + ".join(amounts.words(name, amount) for name, amount in _shape(found))
