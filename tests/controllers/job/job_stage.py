"""A whole control plane for Jobs in memory, on the virtual clock, with the tests playing kubelet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.facts import pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import Client, DeleteOptions, PatchType
from longshore.client.ask import Ask
from longshore.controllers.job import run
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.spec import RESERVED_MANAGER
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.crashing import OneByOne
from support import world
from support.job_world import JOBS, a_job
from support.world import EVENTS, NS, PODS, World

__all__ = ["EVENTS", "JOBS", "NS", "PODS", "Stage", "Troubled", "play", "refused"]


class Troubled(OneByOne):
    """Counts what the controller asks for, and lets a test make it fail."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.asked: Counter[str] = Counter()
        self.trouble: Callable[[str, Ask], None] = lambda what, ask: None
        """Raises, or does not. `what` is e.g. `create pods` or `update jobs/status`."""

    async def _one(self, ask: Ask) -> Obj:
        what = f"{ask.verb} {ask.resource.plural}" + (f"/{ask.subresource}" if ask.subresource else "")
        self.asked[what] += 1
        self.trouble(what, ask)
        return await super()._one(ask)


class Stage(World):
    pause, growth = 0.02, 1.0

    def __init__(self, api: Api, clock: VirtualClock) -> None:
        super().__init__(api, clock)
        self.theirs = Troubled(self.client)
        """The controller's client."""
        self.managed_by = RESERVED_MANAGER
        self.gathers_ends = False

    async def start(self) -> None:
        """Starts the controller, or starts it anew, with nothing remembered."""
        await self.stop()
        context = self.context(self.theirs, registry=self.registry, explanations=self.explanations)
        self.begin(run(context, managed_by=self.managed_by, gathers_ends=self.gathers_ends))

    async def job(self, name: str = "j", *, meta: Obj | None = None, **spec: Any) -> Obj:
        whole = a_job(name, **spec)
        return await self.client.create(JOBS, {**whole, "metadata": {"name": name, **(meta or {})}}, NS)

    async def status(self, name: str = "j") -> Obj:
        return await self.status_of(JOBS, name)

    async def conditions(self, name: str = "j") -> list[str]:
        found = (await self.status(name)).get("conditions") or ()
        return [f"{c['type']}={c['status']}" for c in found]

    async def patch_job(self, patch: Obj) -> Obj:
        return await self.client.patch(JOBS, "j", patch, NS)

    async def pods(self, name: str = "") -> list[Obj]:
        """Oldest first; with `name`, those labelled as this Job's."""
        selector = f"batch.kubernetes.io/job-name={name}" if name else ""
        return sorted(
            await self.listed(PODS, selector), key=lambda pod: int(pod["metadata"]["resourceVersion"])
        )

    async def live(self) -> list[Obj]:
        return [p for p in await self.pods() if not pod_state.has_ended(p) and not pod_facts.deleting(p)]

    async def end(self, pod: Obj, phase: str, *, exit: int | None = None, ago: float = 0) -> None:
        when = rfc3339.from_moment(self.clock.now() - timedelta(seconds=ago))
        code = exit if exit is not None else int(phase == "Failed")
        state = {"terminated": {"exitCode": code, "startedAt": when, "finishedAt": when}}
        main = {
            "name": "main",
            "image": "i",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": state,
        }
        status = {"phase": phase, "containerStatuses": [main]}
        await self.client.patch(PODS, pod["metadata"]["name"], {"status": status}, NS, subresource="status")

    async def delete_job(self) -> None:
        await self.client.delete(JOBS, "j", NS, DeleteOptions(propagation="Background"))

    async def strategic(self, pod: Obj, patch: Obj) -> None:
        await self.client.patch(PODS, pod["metadata"]["name"], patch, NS, type=PatchType.STRATEGIC)

    async def events(self) -> list[str]:
        """`<type> <reason>: <message>`, oldest first."""
        found = await self.told("type", "reason", "message")
        return [f"{type} {reason}: {message}" for type, reason, message in found]

    async def until_live(self, count: int, *, seconds: float = 60) -> list[Obj]:
        async def there() -> tuple[list[Obj]] | None:
            pods = await self.live()
            return (pods,) if len(pods) == count else None

        (found,) = await self.until(there, f"{count} live pods", seconds)
        return list(found)

    async def until_status(self, *, seconds: float = 60, **wanted: Any) -> Obj:
        async def shown() -> Obj | None:
            status = await self.status()
            return status if all(status.get(k) == v for k, v in wanted.items()) else None

        found: Obj = await self.until(shown, f"{wanted}", seconds)
        return found

    async def until_condition(self, condition: str, *, seconds: float = 60) -> None:
        async def shown() -> bool:
            return f"{condition}=True" in await self.conditions()

        await self.until(shown, condition, seconds)

    async def quiet(self, seconds: float = 5) -> None:
        """Lets the controller do whatever it still wants to."""
        await self.clock.sleep(seconds)


Scene = Callable[[Stage], Coroutine[Any, Any, None]]


def play(scene: Scene, *, controller: bool = True) -> None:
    """Plays a scene on a fresh stage; the controller runs from the start unless told otherwise."""

    async def story(stage: Stage) -> None:
        if controller:
            await stage.start()
        await scene(stage)

    world.play(Stage, story)


def refused(code: int = 500, reason: str = "InternalError") -> StatusError:
    return StatusError(code, reason, f"made to fail with {code}")
