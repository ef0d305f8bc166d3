"""Allocates room for gangs, all or nothing, and for pods that request nothing (backfill).

Greedy, as Volcano is: tasks in order, the best node for each, no task is moved again. A gang with its minimum
is bound at once; beyond that it gets one task per turn, so that other gangs get theirs.
"""

from __future__ import annotations

import heapq

from longshore.machinery.reasons import Reason
from longshore.scheduler import amounts
from longshore.scheduler.gang import near
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import ALLOCATED, PENDING, PIPELINED, Task
from longshore.scheduler.gang.plugins.gang_plugin import Place
from longshore.scheduler.gang.trying.trial import Trial

TRIED = (ALLOCATED, PIPELINED)
"""The statuses of tasks that a cycle has placed and may undo."""


def run(trial: Trial) -> None:
    """Repeatedly places the best gang of the best queue that is not used up."""
    jobs: dict[str, list[tuple[Place, Group]]] = {}
    tasks: dict[str, list[Task]] = {}
    for group in trial.groups.values():
        if group.phase in ("", "Pending") or (group.has_minimum and not group.counts.get(PENDING)):
            continue
        if (invalid := group.invalid) is not None:
            group.notes.append(invalid)
            continue
        pending = group.in_status(PENDING)
        waiting = [t for t in pending if t.queue_gated or not (t.gated or t.best_effort)]
        if waiting:
            tasks[group.uid] = waiting
            jobs.setdefault(group.queue, []).append((trial.group_order(group), group))
    for listed in jobs.values():
        heapq.heapify(listed)  # a gang's place in the order changes only by its own turn
    while jobs:
        queue = min((trial.queues[name] for name in jobs), key=trial.queue_order)
        if trial.limits.is_used_up(queue):
            for _, group in sorted(jobs.pop(queue.name)):
                if tasks[group.uid]:
                    _note_queue(trial, group, queue, tasks[group.uid])
            continue
        _, group = heapq.heappop(jobs[queue.name])
        if tasks[group.uid] and _place(trial, group, queue, tasks[group.uid]):
            heapq.heappush(jobs[queue.name], (trial.group_order(group), group))
        if not jobs[queue.name]:
            del jobs[queue.name]


def _place(trial: Trial, group: Group, queue: Queue, tasks: list[Task]) -> bool:
    """Tries the tasks in order until the gang is ready. Returns whether the gang wants another turn."""

    placed, again = attempt(trial, group, queue, tasks)
    if group.is_ready:
        trial.commit(group, placed)
        return again
    if not trial.keeps_room(group):
        for task in reversed(placed):
            trial.undo(group, task)
    return False


def attempt(trial: Trial, group: Group, queue: Queue, tasks: list[Task]) -> tuple[list[Task], bool]:
    """Tries the tasks in order, near each other if the gang asks for it, until the gang is ready. Returns the
    placed tasks, and whether there are more to try in another turn."""
    if group.wish is None:
        return _try(trial, group, queue, tasks)

    def within(tasks: list[Task]) -> tuple[list[Task], bool]:
        return _try(trial, group, queue, tasks)

    return near.place(trial, group, group.wish, tasks, within)


def _try(trial: Trial, group: Group, queue: Queue, tasks: list[Task]) -> tuple[list[Task], bool]:
    """Tries tasks until the gang is ready. Returns the placed ones, and whether more are left to try."""
    placed: list[Task] = []
    while tasks:
        task = tasks.pop(0)
        if not trial.limits.allow(queue, task):
            _note_queue(trial, group, queue, [task])
            continue
        if task.gated:
            trial.ungate(group, task)  # a cycle that sees the gate removed looks for a node
            continue
        if any(group.tasks[uid].role == task.role for uid in group.misfits):
            continue
        home, may = near.home(trial, group, task), trial.limits.allow_now(queue, task)
        room = trial.rooms.best_now(task) if home is None and may else None
        if room is not None:
            trial.allocate(group, task, room)
        else:
            now, later, said = trial.rooms.candidates(task, home)
            if not now and not later:
                _note_misfit(group, task, said)
                if group.goes_on():
                    continue
                break
            if now and may:
                trial.allocate(group, task, trial.rooms.best(task, now))
            else:
                trial.pipeline(group, task, trial.rooms.best(task, later or now))
        placed.append(task)
        if group.is_ready and tasks:
            return placed, True
    return placed, False


def backfill(trial: Trial) -> None:
    """Places tasks of admitted gangs that request nothing, and binds them once the gang is ready."""
    concerned = [
        group
        for group in trial.groups.values()
        if group.counts.get(ALLOCATED) or any(task.best_effort for task in group.in_status(PENDING))
    ]
    for group in sorted(concerned, key=trial.group_order):
        if group.phase in ("", "Pending") or group.invalid:
            continue
        for task in [t for t in group.in_status(PENDING) if t.best_effort and not t.gated]:
            now, _, said = trial.rooms.candidates(task, near.around(trial, group))
            if not now:
                _note_misfit(group, task, said)
                continue
            trial.allocate(group, task, trial.rooms.best(task, now))
        if group.is_ready:
            trial.commit(group, group.in_status(ALLOCATED))


def _note_misfit(group: Group, task: Task, said: str) -> None:
    group.misfits[task.pod.uid] = said
    group.notes.append(Reason("NoNodeFits", {"pod": task.pod.key[1], "message": said}))


def _note_queue(trial: Trial, group: Group, queue: Queue, tasks: list[Task]) -> None:
    """Notes, with numbers, that the queue is used up."""
    task = tasks[0]
    most = trial.limits.most(queue)
    for name, amount in task.requests.items():
        have, may = queue.allocated.get(name, 0), most.get(name, 0)
        if have + amount > may:
            asked, given, used = (amounts.bare(name, n) for n in (amount, may, have))
            numbers = {"asked": asked, "given": given, "used": used}
            about = {"pod": task.pod.key[1], "resource": name, "queue": queue.name}
            group.notes.append(Reason("QueueUsedUp", {**about, **numbers}))
            return
