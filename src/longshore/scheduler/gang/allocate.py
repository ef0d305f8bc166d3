"""Room for gangs, all or nothing, and for pods that ask for nothing (backfill).

Greedy, as Volcano is: tasks in order, the best node for each, nothing is moved again. A gang that has its
minimum is bound at once; what it has beyond comes one task a turn, so that others get theirs.
"""

from __future__ import annotations

from longshore.scheduler import amounts
from longshore.scheduler.gang.model import ALLOCATED, PENDING, PIPELINED, Group, Queue, Task
from longshore.scheduler.gang.session import Session


def run(session: Session) -> None:
    """The best queue that is not used up, its best gang, and again."""
    jobs: dict[str, list[Group]] = {}
    tasks: dict[str, list[Task]] = {}
    for group in session.groups.values():
        if group.phase in ("", "Pending"):
            continue
        problem = group.invalid
        if problem:
            group.notes.append(problem)
            continue
        jobs.setdefault(group.queue, []).append(group)
        tasks[group.uid] = [t for t in group.in_status(PENDING) if not t.gated and not t.best_effort]
    while jobs:
        queue = min((session.queues[name] for name in jobs), key=session.queue_order)
        if session.overused(queue):
            for group in jobs.pop(queue.name):
                if tasks[group.uid]:
                    _note_queue(session, group, queue, tasks[group.uid])
            continue
        group = min(jobs[queue.name], key=session.group_order)
        jobs[queue.name].remove(group)
        if not jobs[queue.name]:
            del jobs[queue.name]
        if tasks[group.uid] and _place(session, group, queue, tasks[group.uid]):
            jobs.setdefault(queue.name, []).append(group)


def _place(session: Session, group: Group, queue: Queue, tasks: list[Task]) -> bool:
    """Tries the tasks in order until the gang is ready. Whether the gang wants another turn."""
    placed: list[Task] = []
    again = False
    while tasks:
        task = tasks.pop(0)
        if not session.allocatable(queue, task):
            _note_queue(session, group, queue, [task])
            continue
        if any(group.tasks[uid].role == task.role for uid in group.misfits):
            continue
        now, later, said = session.candidates(task)
        if not now and not later:
            group.misfits[task.pod.uid] = said
            _note_nodes(session, group, task)
            if group.goes_on():
                continue
            break
        if now and session.within_limits(queue, task):
            session.allocate(group, task, session.best(task, now))
        else:
            session.pipeline(group, task, session.best(task, later or now))
        placed.append(task)
        if group.is_ready and tasks:
            again = True
            break
    if group.is_ready:
        session.commit(group, placed)
        return again
    if not group.is_pipelined:
        for task in reversed(placed):
            session.undo(group, task)
    return False


def backfill(session: Session) -> None:
    """Tasks that ask for nothing, of gangs that were let in; bound once the gang is ready."""
    for group in sorted(session.groups.values(), key=session.group_order):
        if group.phase in ("", "Pending") or group.invalid:
            continue
        for task in [t for t in group.in_status(PENDING) if t.best_effort and not t.gated]:
            now, _, said = session.candidates(task)
            if not now:
                group.misfits[task.pod.uid] = said
                group.notes.append(f"{task.pod.key[1]}: {said}")
                continue
            session.allocate(group, task, session.best(task, now))
        if group.is_ready:
            session.commit(group, group.in_status(ALLOCATED))


def _note_queue(session: Session, group: Group, queue: Queue, tasks: list[Task]) -> None:
    """In numbers: the queue has given all it may."""
    task = tasks[0]
    most = queue.limit if session.settings.capacity else queue.deserved
    for name, amount in task.requests.items():
        have, may = queue.allocated.get(name, 0), most.get(name, 0)
        if have + amount > may:
            needed = sum(group.counts[status] for status in (PENDING, PIPELINED, ALLOCATED))
            group.notes.append(
                f"needs {needed} × {amounts.words(name, amount)}, queue {queue.name} has "
                f"{amounts.bare(name, max(may - have, 0))} of {amounts.bare(name, may)} left"
            )
            return


def _note_nodes(session: Session, group: Group, task: Task) -> None:
    """In numbers: how many more of this task the nodes could take, beside those that were tried."""
    fits = 0
    for room in session.rooms.values():
        parts = [room.node.left(name) // amount for name, amount in task.requests.items()]
        fits += max(min(parts, default=0), 0)
    tried = len(group.in_status(ALLOCATED, PIPELINED))
    asked = ", ".join(amounts.words(name, amount) for name, amount in task.requests.items())
    group.notes.append(
        f"needs {group.min_member} pods, {task.pod.key[1]} asks {asked}: "
        f"{_nodes(len(session.rooms))} with room for {tried + fits}"
    )
    group.notes.append(f"{task.pod.key[1]}: {group.misfits[task.pod.uid]}")


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
