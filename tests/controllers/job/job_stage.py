"""A whole control plane for Jobs in memory, on the virtual clock, with the tests playing kubelet."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.facts import pod_state
from longshore.api.metrics import Registry
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Client, DeleteOptions, PatchType
from longshore.client.ask import Ask
from longshore.client.local import LocalClient
from longshore.controllers.job import run
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.spec import RESERVED_MANAGER
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanations
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import NS, an_api

JOBS = ("batch/v1", "Job")
PODS = ("v1", "Pod")
EVENTS = ("v1", "Event")


class Troubled(LocalClient):
    """Counts what the controller asks for, and lets a test make it fail."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.asked: Counter[str] = Counter()
        self.trouble: Callable[[str, Ask], None] = lambda what, ask: None
        """Raises, or does not. `what` is e.g. `create pods` or `update jobs/status`."""

    write = Client.write

    def in_order(self) -> LocalClient:
        return self

    async def _one(self, ask: Ask) -> Obj:
        what = f"{ask.verb} {ask.resource.plural}" + (f"/{ask.subresource}" if ask.subresource else "")
        self.asked[what] += 1
        self.trouble(what, ask)
        return await super()._one(ask)


class Stage:
    def __init__(self, api: Api, clock: VirtualClock) -> None:
        self.clock = clock
        self.client = LocalClient(api)
        self.theirs = Troubled(api)
        """The controller's client."""
        self.registry = Registry()
        self.explanations = Explanations()
        self.managed_by = RESERVED_MANAGER
        self.gathers_ends = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts the controller, or starts it anew, with nothing remembered."""
        await self.stop()
        self._task = asyncio.create_task(
            run(
                ControllerContext(
                    self.theirs,
                    clock=self.clock,
                    rng=self.clock.rng,
                    registry=self.registry,
                    explanations=self.explanations,
                ),
                managed_by=self.managed_by,
                gathers_ends=self.gathers_ends,
            )
        )

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def job(self, name: str = "j", *, meta: Obj | None = None, **spec: Any) -> Obj:
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
        whole = {"metadata": {"name": name, **(meta or {})}, "spec": {"template": template, **spec}}
        return await self.client.create(JOBS, whole, NS)

    async def status(self, name: str = "j") -> Obj:
        status: Obj = (await self.client.get(JOBS, name, NS)).get("status") or {}
        return status

    async def conditions(self, name: str = "j") -> list[str]:
        found = (await self.status(name)).get("conditions") or ()
        return [f"{c['type']}={c['status']}" for c in found]

    async def patch_job(self, patch: Obj, name: str = "j") -> Obj:
        return await self.client.patch(JOBS, name, patch, NS)

    async def pods(self, name: str = "") -> list[Obj]:
        """Oldest first; with `name`, those labelled as this Job's."""
        selector = f"batch.kubernetes.io/job-name={name}" if name else ""
        found = (await self.client.list(PODS, NS, labels=selector)).items
        return sorted(found, key=lambda p: int(p["metadata"]["resourceVersion"]))

    async def live(self) -> list[Obj]:
        """Pods that are neither ended nor being deleted."""
        return [p for p in await self.pods() if not pod_state.has_ended(p) and not pod_facts.deleting(p)]

    async def end(self, pod: Obj, phase: str, *, exit: int | None = None, ago: float = 0) -> None:
        """Reports the end of a pod, as a kubelet does."""
        when = (self.clock.now() - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
        code = exit if exit is not None else int(phase == "Failed")
        state = {"terminated": {"exitCode": code, "startedAt": when, "finishedAt": when}}
        status = {
            "phase": phase,
            "containerStatuses": [
                {
                    "name": "main",
                    "image": "i",
                    "imageID": "",
                    "ready": False,
                    "restartCount": 0,
                    "state": state,
                }
            ],
        }
        await self.client.patch(PODS, pod["metadata"]["name"], {"status": status}, NS, subresource="status")

    async def bind(self, pod: Obj) -> None:
        """Puts a pod on a node, so that deleting it takes its grace period."""
        binding = {"metadata": {"name": pod["metadata"]["name"]}, "target": {"kind": "Node", "name": "n"}}
        await self.client.create(PODS, binding, NS, name=pod["metadata"]["name"], subresource="binding")

    async def delete_pod(self, pod: Obj, *, grace: int | None = None) -> None:
        options = DeleteOptions(grace_period_seconds=grace)
        await self.client.delete(PODS, pod["metadata"]["name"], NS, options)

    async def delete_job(self, name: str = "j") -> None:
        await self.client.delete(JOBS, name, NS, DeleteOptions(propagation="Background"))

    async def strategic(self, pod: Obj, patch: Obj) -> None:
        await self.client.patch(PODS, pod["metadata"]["name"], patch, NS, type=PatchType.STRATEGIC)

    async def events(self) -> list[str]:
        """`<type> <reason>: <message>`, oldest first."""
        found = (await self.client.list(EVENTS, NS)).items
        found.sort(key=lambda e: int(e["metadata"]["resourceVersion"]))
        return [f"{e['type']} {e['reason']}: {e['message']}" for e in found]

    async def until(self, holds: Callable[[], Awaitable[Any]], *, seconds: float = 60) -> Any:
        """What `holds` gives once that is true."""
        end = self.clock.monotonic() + seconds
        while not (found := await holds()):
            assert self.clock.monotonic() < end, f"{holds} does not hold after {seconds} s"
            await self.clock.sleep(0.02)
        return found

    async def until_live(self, count: int, *, seconds: float = 60) -> list[Obj]:
        async def there() -> tuple[list[Obj]] | None:
            pods = await self.live()
            return (pods,) if len(pods) == count else None

        (found,) = await self.until(there, seconds=seconds)
        return list(found)

    async def until_status(self, name: str = "j", *, seconds: float = 60, **wanted: Any) -> Obj:
        async def shown() -> Obj | None:
            status = await self.status(name)
            return status if all(status.get(k) == v for k, v in wanted.items()) else None

        found: Obj = await self.until(shown, seconds=seconds)
        return found

    async def until_condition(self, condition: str, name: str = "j", *, seconds: float = 60) -> None:
        async def shown() -> bool:
            return f"{condition}=True" in await self.conditions(name)

        await self.until(shown, seconds=seconds)

    async def quiet(self, seconds: float = 5) -> None:
        """Lets the controller do whatever it still wants to."""
        await self.clock.sleep(seconds)


Scene = Callable[[Stage], Coroutine[Any, Any, None]]


def play(scene: Scene, *, controller: bool = True) -> None:
    """Plays a scene on a fresh stage; the controller runs from the start unless told otherwise."""

    async def main(clock: VirtualClock) -> None:
        async with an_api(clock) as (api, _):
            stage = Stage(api, clock)
            try:
                if controller:
                    await stage.start()
                await scene(stage)
            finally:
                await stage.stop()

    virtual.run(main)


def refused(code: int = 500, reason: str = "InternalError") -> StatusError:
    return StatusError(code, reason, f"made to fail with {code}")
