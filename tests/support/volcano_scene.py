"""Controllers of Volcano's side kinds on an API in memory and the virtual clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from longshore.api.types import Obj
from longshore.apiserver.api import Api
from longshore.apiserver.request.call import User
from longshore.client import Client, What
from longshore.client.local import LocalClient
from longshore.client.projection import WHOLE
from longshore.machinery.explanations import Explanations
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.up import manifests
from support import world
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
            own = await _with_its_rights(self.api, self.client, name)
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
        """Type, reason and message of every event, oldest first."""
        return await self.told("type", "reason", "message")


async def _with_its_rights(api: Api, client: Client, name: str) -> LocalClient:
    """A client that may do what `longshore manifests` gives this controller, and nothing else."""
    group = "rbac.authorization.k8s.io"
    role = {"metadata": {"name": name}, "rules": manifests.rules([name])}
    await client.create((f"{group}/v1", "ClusterRole"), role)
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": name, "apiGroup": group}],
    }
    await client.create((f"{group}/v1", "ClusterRoleBinding"), binding)
    return LocalClient(api, user=User(name, ("system:authenticated",)))


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
