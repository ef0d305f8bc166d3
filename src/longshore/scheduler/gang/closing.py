"""The reports at the end of a cycle: phases, counters and conditions of groups, and why tasks wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from longshore.api.types import Obj
from longshore.machinery.reasons import Reason
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts, total
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import (
    ALLOCATED,
    FAILED,
    HOLDING,
    PENDING,
    PIPELINED,
    RELEASING,
    RUNNING,
    SCHEDULED,
    SUCCEEDED,
    Task,
)
from longshore.scheduler.gang.plan import GroupReport, TaskReport
from longshore.scheduler.gang.trying.trial import Trial

UNSCHEDULABLE, SCHEDULABLE = "Unschedulable", "Schedulable"
_READY_TEXT, _NOT_READY_TEXT = "pod group is ready", "pod group is not ready"


def report(group: Group, cycle: str, now: str) -> GroupReport:
    """The report of one group. `cycle` is the cycle's uid, which conditions carry."""
    old = group.status
    conditions: list[Obj] = [*(old.get("conditions") or ())]
    unschedulable = False
    if group.tasks and group.rules.all_or_nothing:
        if group.has_minimum:
            new = _condition("Scheduled", "tasks in gang are ready to be scheduled", "", cycle, now)
            conditions = _with(conditions, new)
        elif not _settled(group) and group.is_growing is None:
            short = group.min_member - _schedulable(group)
            message = f"{short}/{len(group.tasks)} tasks in gang unschedulable: {fit_error(group)}"
            new = _condition("Unschedulable", "NotEnoughResources", message, cycle, now)
            conditions = _with(conditions, new)
            unschedulable = True
    phase = _phase(group, unschedulable=unschedulable)
    counts = group.counts
    status: Obj = {**old, "phase": phase, "conditions": conditions}
    for name, counted in (("running", RUNNING), ("succeeded", SUCCEEDED), ("failed", FAILED)):
        status.pop(name, None)
        if counts.get(counted):
            status[name] = counts[counted]
    if not conditions:
        del status["conditions"]
    waits = ""
    pending = counts.get(PENDING, 0)
    if phase in ("Unknown", "Pending", "Inqueue") and not (group.has_minimum and not pending):
        waits = _NOT_READY_TEXT
        if group.tasks:
            waits = f"{pending}/{len(group.tasks)} tasks in gang unschedulable: {fit_error(group)}"
    changed = status != old
    group.phase = phase
    return GroupReport(
        group,
        status,
        changed,
        waits,
        [] if group.is_growing is not None else _tasks(group),
        _explained(group, waits),
    )


def _explained(group: Group, waits: str) -> tuple[Reason, ...]:
    """The phase, the notes of the cycle without repetitions, and what the group waits for."""
    noted = {str(note): note for note in group.notes}
    why = [Reason(f"Phase{group.phase}"), *noted.values()]
    if waits and group.tasks:
        counts = {"pending": group.counts.get(PENDING, 0), "tasks": len(group.tasks)}
        why.append(Reason("Unschedulable", {"message": waits, **counts}))
    return tuple(why)


def allocated(trial: Trial) -> dict[str, dict[str, str]]:
    """The allocated amounts of each queue; cpu and memory are always included."""
    found: dict[str, Amounts] = {name: {amounts.CPU: 0, amounts.MEMORY: 0} for name in trial.queues}
    held: dict[str, list[Mapping[str, int]]] = {}
    for group in trial.groups.values():
        if count := group.held_count:
            own = {name: amount for name, amount in group.holding.items() if amount}
            held.setdefault(group.queue, []).append({**own, amounts.PODS: count})
    for name, sums in trial.settled.items():
        if name in trial.queues and sums.pods:
            held.setdefault(name, []).append({**sums.allocated, amounts.PODS: sums.pods})
    for name, parts in held.items():
        queue = trial.queues[name]
        own = total(parts)
        for each in (name, *(above.name for above in trial.limits.branches.above(queue)), "root"):
            if each in found:
                found[each] = total((found[each], own))
    return {
        queue: {name: amounts.text(name, amount) for name, amount in held.items()}
        for queue, held in found.items()
    }


def fit_error(group: Group) -> str:
    """Why the gang does not fit: `pod group is not ready, 3 Pending, 3 minAvailable; Pending: …`."""
    counts = Counter({status: count for status, count in group.counts.items() if count})
    counts["minAvailable"] = group.min_member
    ready = _READY_TEXT if group.has_minimum else _NOT_READY_TEXT
    text = f"{ready}, {_histogram(counts)}"
    pending = Counter(_why(group, task)[0] for task in group.in_status(PENDING))
    if pending:
        text += f"; Pending: {_histogram(pending)}"
    for uid, task in group.tasks.items():
        if uid in group.misfits:
            return f"{text}. Origin reason is {task.pod.key[1]}: {group.misfits[uid]}"
    return text


def _why(group: Group, task: Task) -> tuple[str, str]:
    namespace, name = task.pod.key
    status, node = task.possible or (task.status, task.node)
    if status == ALLOCATED:
        text = f"Pod {namespace}/{name} can possibly be assigned to {node}, once minAvailable is satisfied"
        return SCHEDULABLE, text
    if status == PIPELINED:
        text = (
            f"Pod {namespace}/{name} can possibly be assigned to {node}, "
            "once resource is released and minAvailable is satisfied"
        )
        return UNSCHEDULABLE, text
    return UNSCHEDULABLE, group.misfits.get(task.pod.uid, "")


def _tasks(group: Group) -> list[TaskReport]:
    found = []
    general = ""
    for task in group.in_status(ALLOCATED, PENDING, PIPELINED):
        if task.gated:
            continue
        reason, message = _why(group, task)
        if not message:
            message = general = general or fit_error(group)
        found.append(TaskReport(task, reason, message))
    return found


def _phase(group: Group, *, unschedulable: bool) -> str:
    counts = group.counts
    if unschedulable and counts.get(RUNNING):
        return "Unknown"
    placed = sum(count for status, count in counts.items() if status in SCHEDULED) + _leaving(group)
    if placed >= group.min_member:
        ended = counts.get(SUCCEEDED, 0) + counts.get(FAILED, 0)
        return "Completed" if ended == placed else "Running"
    return "Inqueue" if group.phase == "Inqueue" else "Pending"


def _leaving(group: Group) -> int:
    return sum(bool(task.node) for task in group.in_status(RELEASING)) if group.counts.get(RELEASING) else 0


def _settled(group: Group) -> bool:
    """Whether no pod waits, and enough pods are ready or being deleted. A failed pod counts as missing."""
    counts = group.counts
    waiting = counts.get(PENDING) or counts.get(PIPELINED)
    return not waiting and group.ready_count + _leaving(group) >= group.min_member


def _schedulable(group: Group) -> int:
    possible = sum(
        task.status == PENDING and task.possible is not None and task.possible[0] in HOLDING
        for task in group.tasks.values()
    )
    return possible + group.ready_count


def _condition(kind: str, reason: str, message: str, cycle: str, now: str) -> Obj:
    made = {
        "type": kind,
        "status": "True",
        "transitionID": cycle,
        "lastTransitionTime": now,
        "reason": reason,
    }
    if message:
        made["message"] = message
    return made


def _with(conditions: list[Obj], new: Obj) -> list[Obj]:
    """The conditions with `new` in place of the one of its type, unless both say the same. Stored conditions
    may lack a type, since the schema does not require one."""
    for n, old in enumerate(conditions):
        if old.get("type") == new["type"]:
            same = all(old.get(key) == new.get(key) for key in ("status", "reason", "message"))
            return conditions if same else [*conditions[:n], new, *conditions[n + 1 :]]
    return [*conditions, new]


def _histogram(counts: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {name}" for name, count in counts.items()))
