"""A plane in memory on the virtual clock, a scripted node, and what `longshore why` says about it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from longshore.api.types import Obj
from longshore.apiserver.request.call import User
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.node.capacity import Capacity
from longshore.plane.plane import Plane
from longshore.testing import Run, ScriptedNode
from longshore.testing.scripted_runtime import Exec, Execs, RunScript
from longshore.testing.world import World
from longshore.why import kinds, text

_SUFFIX = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

START = datetime(2026, 1, 1, 9, 0, 0, tzinfo=UTC)
ALICE = User("alice", ("system:masters",))
BIG = Capacity({"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"})
SMALL = Capacity({"cpu": "2", "memory": "4Gi", "ephemeral-storage": "1Ti", "pods": "10"})

JOBS, PODS, CRON_JOBS = ("batch/v1", "Job"), ("v1", "Pod"), ("batch/v1", "CronJob")


def checked(said: str, expected: str) -> None:
    """Compares texts in which random ends of names are `xxxxx`, and UIDs `UID`."""
    said = _UID.sub("UID", _SUFFIX.sub("-xxxxx", said))
    assert said.splitlines() == textwrap.dedent(expected).strip("\n").splitlines()


class Stage:
    """One longshore. The clock shows nine o'clock as it begins."""

    def __init__(self, plane: Plane, clock: VirtualClock) -> None:
        self.plane, self.clock, self.client = plane, clock, plane.client
        self.alice = LocalClient(plane.api, manager="kubectl", user=ALICE)

    async def create(self, what: tuple[str, str], obj: Obj, namespace: str = "default") -> Obj:
        return await self.client.create(what, obj, namespace)

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)

    async def document(self, what: str, namespace: str = "default") -> Obj:
        """The story as programs get it."""
        word, _, name = what.partition("/")
        response = await self.client.request("GET", kinds.KINDS[word].explanation(namespace, name))
        found: Obj = msgspec.json.decode(response.body)
        assert response.code == 200, found
        return found

    async def why(self, what: str, namespace: str = "default") -> str:
        story = await self.document(what, namespace)
        return "\n".join(text.lines(story, UTC, self.clock.now()))

    async def tells(self, what: str, expected: str, namespace: str = "default") -> None:
        checked(await self.why(what, namespace), expected)

    async def pods(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in (await self.client.list(PODS, "default")).items]


Script = Callable[[Stage], Awaitable[None]]


def play(
    script: Script,
    runs: RunScript = lambda container: Run(seconds=5.0),
    *,
    capacity: Capacity = SMALL,
    node: bool = True,
    root: Path = Path("a-scripted-node-has-no-directory"),
    execs: Execs = lambda key, command: Exec(),
    refuse: Callable[[Obj], None] = lambda pod: None,
    **more: Any,
) -> None:
    """Plays a script beside a whole plane. `refuse` may raise the reason why a pod cannot be prepared."""

    async def whole(clock: VirtualClock) -> None:
        plane = World(clock, **more).plane
        await plane.prepare()
        stand = ScriptedNode(clock, runs, capacity=capacity, root=root) if node else None
        if stand is not None:
            stand.machine.execs = execs
            stand.preparer.refuse = refuse
        async with plane.running(stand):
            await script(Stage(plane, clock))

    virtual.run(whole, start=START)


def a_job(name: str = "x", *, container: Obj | None = None, template: Obj | None = None, **spec: Any) -> Obj:
    main = {"name": "main", "image": "i", "command": ["c"], **(container or {})}
    pod = {"restartPolicy": "Never", "containers": [main], **(template or {})}
    return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}, **spec}}


def a_pod(name: str = "p", *, container: Obj | None = None, **spec: Any) -> Obj:
    main = {"name": "main", "image": "i", "command": ["c"], **(container or {})}
    return {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [main], **spec}}
