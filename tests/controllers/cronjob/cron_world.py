"""A CronJob controller on an API in memory and the virtual clock, with something that ends Jobs in time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from longshore.api import cron
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.cronjob import DIALECT
from longshore.controllers.scheduled.loop import Loop
from longshore.controllers.scheduled.view import ScheduledView
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.informers.reflector import Selection
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.work_limits import WorkLimits
from longshore.testing.stories import beside
from support import world
from support.world import NAMESPACES

CRONJOBS = ("batch/v1", "CronJob")
JOBS = ("batch/v1", "Job")
POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}


class World(world.World):
    async def prepare(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": "other"}})

    async def cronjob(
        self, schedule: str, name: str = "c", *, annotations: dict[str, str] | None = None, **spec: Any
    ) -> Obj:
        meta: Obj = {"name": name, **({"annotations": annotations} if annotations else {})}
        wanted = {"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": POD}}}, **spec}
        return await self.client.create(CRONJOBS, {"metadata": meta, "spec": wanted}, "ns")

    async def change(self, patch: Obj, name: str = "c", **options: Any) -> None:
        await self.client.patch(CRONJOBS, name, patch, "ns", **options)

    async def status(self, name: str = "c") -> Obj:
        return await self.status_of(CRONJOBS, name)

    async def jobs(self) -> list[str]:
        """Names, in their order."""
        return [job["metadata"]["name"] for job in await self.listed(JOBS)]

    async def events(self, reason: str = "") -> list[str]:
        """Messages of the events on CronJobs, oldest first."""
        await self.clock.sleep(0.5)  # they are written in the background
        return [message for why, message in await self.told("reason", "message") if reason in ("", why)]

    async def end(self, name: str, how: str = "Complete") -> None:
        """Does what the Job controller does when a Job comes to its end."""
        job = await self.find(JOBS, name)
        if job is not None:
            await self.client.update_status(JOBS, {**job, "status": ended(how, self.now())}, "ns")

    def now(self) -> str:
        return rfc3339.from_moment(self.clock.now())

    def controller(self, client: Client | None = None, **options: Any) -> Loop:
        context = self.context(
            client,
            rng=random.Random(1),
            registry=self.registry,
            explanations=self.explanations,
            name="cronjob",
            limits=WorkLimits(workers={"cronjob": 5}),
        )
        given = {"namespace": "", "zone": cron.UTC, "glance": 5.0, **options}
        return Loop(DIALECT, context, **given)

    @asynccontextmanager
    async def running(self, **options: Any) -> AsyncIterator[Loop]:
        """A controller that runs beside the block, and has looked at everything there is."""
        controller = self.controller(**options)
        async with beside(controller.run()):
            await self.clock.sleep(0.05)
            yield controller

    async def hearing(self, handler: Handler) -> None:
        """Tells `handler` of all Jobs until cancelled."""
        informer = Informer(self.client, Selection(JOBS), clock=self.clock, rng=random.Random(2))
        informer.add_handler(handler)
        await informer.run()

    async def ending(self, seconds: Callable[[Obj], float | None], how: str = "Complete") -> None:
        """Ends every Job so many seconds after its creation; None never does. Until cancelled."""
        async with asyncio.TaskGroup() as tasks:

            async def later(name: str, after: float) -> None:
                await self.clock.sleep(after)
                await self.end(name, how)

            class Ending(Handler):
                def on_add(self, obj: Obj, initial: bool) -> None:
                    if (after := seconds(obj)) is not None:
                        tasks.create_task(later(obj["metadata"]["name"], after))

            await self.hearing(Ending())


def ended(how: str, at: str) -> Obj:
    interim = "SuccessCriteriaMet" if how == "Complete" else "FailureTarget"
    reason = "CompletionsReached" if how == "Complete" else "BackoffLimitExceeded"
    shared = {"status": "True", "reason": reason, "lastTransitionTime": at}
    status = {"startTime": at, "conditions": [{"type": interim, **shared}, {"type": how, **shared}]}
    return {**status, "completionTime": at, "succeeded": 1} if how == "Complete" else {**status, "failed": 1}


def a_world(clock: VirtualClock) -> AbstractAsyncContextManager[World]:
    return world.opened(World, clock)


def looks_of(controller: Loop) -> list[ScheduledView]:
    """The views of this controller, one for each look from now on."""
    looks: list[ScheduledView] = []
    looked = controller._observe

    def noted(obj: Obj) -> ScheduledView:
        looks.append(looked(obj))
        return looks[-1]

    controller._observe = noted  # type: ignore[method-assign] # only looks on
    return looks
