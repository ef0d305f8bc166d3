"""How a finished pod is counted exactly once: the writes of a real run, in their order.

The whole control plane runs on the virtual clock with one Job of one pod; every write that a watcher sees is
a row of the picture.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from handbook.pictures import drawing
from longshore.api import cron
from longshore.api.types import Obj
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.plane import Parts, Plane
from longshore.store import Store
from longshore.testing import MemoryDirectories, Run, ScriptedNode, SeededKeys

JOBS, PODS = ("batch/v1", "Job"), ("v1", "Pod")
TRACKING = "batch.kubernetes.io/job-tracking"
_POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox", "command": ["true"]}]}
_JOB = {"metadata": {"name": "pi"}, "spec": {"template": {"spec": _POD}}}
_ACTORS = ("you", "Job controller", "scheduler", "node")


class Write(NamedTuple):
    actor: str
    words: str
    phase: str
    """Of the pod, after the write; empty while there is none."""
    held: bool
    """Whether the finalizer holds the pod."""
    uncounted: int
    succeeded: int
    condition: str
    """The Job's newest condition; empty before the first."""


def writes() -> list[Write]:
    """Every write of a Job and its pod, from the first to the last."""
    return [*_told(virtual.run(_run, seed=7))]


async def _run(clock: VirtualClock) -> list[tuple[str, Obj]]:
    store = Store.open(None)
    plane = Plane(
        Parts(
            store,
            clock,
            clock.rng,
            cron.load("UTC"),
            SeededKeys(clock.rng),
            controllers=("job",),
            volumes=MemoryDirectories(),
            shortcuts=False,  # each step is a write of its own
        )
    )
    await plane.prepare()
    seen: list[tuple[str, Obj]] = []
    async with asyncio.TaskGroup() as watches:
        watching = [watches.create_task(_watch(plane, kind, seen)) for kind in (JOBS, PODS)]
        async with plane.running(ScriptedNode(clock, lambda container: Run(seconds=2.0))):
            await plane.client.create(JOBS, _JOB, "default")
            await clock.sleep(30)
        for task in watching:
            task.cancel()
    await store.close()
    return sorted(seen, key=lambda write: int(write[1]["metadata"]["resourceVersion"]))


async def _watch(plane: Plane, kind: tuple[str, str], seen: list[tuple[str, Obj]]) -> None:
    async with plane.client.watch(kind, "default") as events:
        async for event in events:
            seen.append((kind[1], event.object))


def _told(seen: list[tuple[str, Obj]]) -> list[Write]:
    pod: Obj = {}
    job: Obj = {}
    out = []
    for kind, obj in seen:
        if kind == "Pod":
            actor, words = _pod_write(pod, obj)
            pod = obj
        else:
            actor, words = _job_write(job, obj)
            job = obj
        status = job.get("status") or {}
        conditions = [each["type"] for each in status.get("conditions") or ()]
        out.append(
            Write(
                actor,
                words,
                (pod.get("status") or {}).get("phase", ""),
                TRACKING in (pod.get("metadata", {}).get("finalizers") or ()),
                len((status.get("uncountedTerminatedPods") or {}).get("succeeded") or ()),
                status.get("succeeded", 0),
                conditions[-1] if conditions else "",
            )
        )
    return out


def _pod_write(before: Obj, after: Obj) -> tuple[str, str]:
    if not before:
        return "Job controller", "creates the pod, with the finalizer"
    if after["spec"].get("nodeName") != before["spec"].get("nodeName"):
        return "scheduler", "binds the pod to a node"
    if after["metadata"].get("finalizers") != before["metadata"].get("finalizers"):
        return "Job controller", "removes the finalizer"
    return (
        "node",
        f"reports that the pod has {'ended' if after['status']['phase'] == 'Succeeded' else 'started'}",
    )


def _job_write(before: Obj, after: Obj) -> tuple[str, str]:
    if not before:
        return "you", "create the Job"
    status, old = after["status"], before.get("status") or {}
    if status.get("succeeded", 0) != old.get("succeeded", 0):
        return "Job controller", "counts the pod, and ends the Job"
    if (status.get("uncountedTerminatedPods") or {}).get("succeeded"):
        return "Job controller", "notes the pod's UID as uncounted"
    return "Job controller", "notes the active and ready pods"


def picture() -> str:
    rows = writes()
    top, step = 62, 40
    parts = [
        drawing.text(24, 40, "who", bold=True),
        drawing.text(150, 40, "writes", bold=True),
        drawing.text(430, 40, "the pod then", bold=True),
        drawing.text(620, 40, "the Job's status then", bold=True),
    ]
    for number, row in enumerate(rows):
        y = top + number * step
        tint = drawing.TINTS[_ACTORS.index(row.actor)]
        parts += [
            drawing.box(16, y, 118, 30, tint),
            drawing.text(75, y + 20, row.actor, anchor="middle"),
            drawing.text(150, y + 20, f"{number + 1}. {row.words}"),
            drawing.text(430, y + 20, _pod_state(row), colour=drawing.INK if row.held else drawing.FAINT),
            drawing.text(620, y + 20, _job_state(row)),
        ]
    title = "The writes of a Job with one pod, from its creation to its end"
    return drawing.svg(980, top + len(rows) * step + 12, title, parts)


def _pod_state(row: Write) -> str:
    if not row.phase:
        return "–"
    return f"{row.phase}, {'held' if row.held else 'free to go'}"


def _job_state(row: Write) -> str:
    state = f"uncounted {row.uncounted}, succeeded {row.succeeded}"
    return f"{state}, {row.condition}" if row.condition else state
