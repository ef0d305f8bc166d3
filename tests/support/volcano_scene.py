"""Controllers of Volcano's side kinds on an API in memory and the virtual clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.client import What
from longshore.client.local import LocalClient
from longshore.client.projection import WHOLE
from longshore.machinery.explanations import Explanations
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.up import manifests
from support import world
from support.rights import grant
from support.volcano_queues import open_queue
from support.world import EVENTS, World

__all__ = ["COMMANDS", "EVENTS", "JOBS", "POD_GROUPS", "QUEUES", "Run", "Scene", "play"]

T = TypeVar("T")
Run = Callable[..., Coroutine[Any, Any, None]]

QUEUES = ("scheduling.volcano.sh/v1beta1", "Queue")
POD_GROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
COMMANDS = ("bus.volcano.sh/v1alpha1", "Command")
JOBS = ("batch.volcano.sh/v1alpha1", "Job")


class Scene(World):
    namespace = "default"

    def __init__(
        self, api: Api, clock: VirtualClock, controllers: tuple[Run, ...], kept_whole: Collection[What]
    ) -> None:
        super().__init__(api, clock)
        self._controllers, self._kept_whole = controllers, kept_whole
        self.explained: dict[str, Explanations] = {}
        """Explanations of each controller, by its name."""

    async def prepare(self) -> None:
        for name in ("root", "default"):
            await open_queue(self.client, name)
        for run in self._controllers:
            name = _name_of(run)
            user = await grant(self.client, name, manifests.rules([name]))
            own = LocalClient(self.api, user=user)
            informers = Informers(
                own, clock=self.clock, rng=self.clock.rng, reads=dict.fromkeys(self._kept_whole, WHOLE)
            )
            context = self.context(own, registry=self.registry, informers=informers)
            self.explained[name] = context.explanations
            self.begin(run(context))

    async def settle(self, seconds: float = 0.5) -> None:
        """Lets the controllers come to rest without much time passing."""
        await super().settle(seconds)

    async def queue(self, name: str, **spec: Any) -> None:
        await self.client.create(QUEUES, {"metadata": {"name": name}, "spec": spec})

    async def get(self, what: What, name: str, namespace: str = "") -> Obj | None:
        return await self.find(what, name, namespace)

    async def events(self) -> list[tuple[Any, ...]]:
        return await self.told("type", "reason", "message")


def _name_of(run: Run) -> str:
    """The controller's name on the command line, from its dialect or its package."""
    for argument in getattr(run, "args", ()):
        if name := getattr(argument, "controller", ""):
            return str(name)
    parts = getattr(run, "func", run).__module__.split(".")[2:-1]
    return "-".join(parts).replace("volcano-flow", "volcano-jobflow")


def play(
    script: Callable[[Scene], Awaitable[T]],
    *controllers: Run,
    start: datetime = virtual.START,
    seed: int = 0,
    kept_whole: Collection[What] = (),
) -> T:
    """Runs the controllers and the script on a virtual clock, with queues `root` and `default`. Somebody else
    in the process keeps the kinds in `kept_whole` as a whole."""
    scene = partial(Scene, controllers=controllers, kept_whole=kept_whole)
    return world.play(scene, script, start=start, seed=seed)
