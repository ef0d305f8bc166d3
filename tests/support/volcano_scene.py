"""Controllers of Volcano's side kinds on an API in memory and the virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from datetime import datetime
from typing import Any, TypeVar

from longshore.api.metrics import Registry
from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.request.call import User
from longshore.client import Client, What
from longshore.client.local import LocalClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanations
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.store import Store
from longshore.up import manifests
from support.found import found
from support.volcano_queues import open_queue

T = TypeVar("T")
Run = Callable[..., Coroutine[Any, Any, None]]

QUEUES = ("scheduling.volcano.sh/v1beta1", "Queue")
POD_GROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
COMMANDS = ("bus.volcano.sh/v1alpha1", "Command")
JOBS = ("batch.volcano.sh/v1alpha1", "Job")
EVENTS = ("v1", "Event")


class Scene:
    """What a test may do. `settle` lets the controllers come to rest without much time passing."""

    def __init__(self, client: Client, clock: VirtualClock, registry: Registry) -> None:
        self.client, self.clock, self.registry = client, clock, registry
        self.explanations: dict[str, Explanations] = {}
        """Those of each controller, by its name."""

    def context(self, client: Client) -> ControllerContext:
        """The context of one more controller, on a client of its own."""
        return ControllerContext(client, clock=self.clock, rng=self.clock.rng)

    async def settle(self, seconds: float = 0.5) -> None:
        await self.clock.sleep(seconds)

    async def queue(self, name: str, **spec: Any) -> None:
        await self.client.create(QUEUES, {"metadata": {"name": name}, "spec": spec})

    async def get(self, what: What, name: str, namespace: str = "") -> Obj | None:
        return await found(self.client, what, name, namespace)

    async def events(self) -> list[tuple[str, str, str]]:
        """Type, reason and message of every event, oldest first."""
        found = (await self.client.list(EVENTS)).items
        found.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [(event["type"], event["reason"], event["message"]) for event in found]


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

    async def whole(clock: VirtualClock) -> T:
        store = Store.open(None)
        api = Api(ApiParts(store, clock, clock.rng))
        client = LocalClient(api)
        await client.create(("v1", "Namespace"), {"metadata": {"name": "default"}})
        for name in ("root", "default"):
            await open_queue(client, name)
        scene = Scene(client, clock, Registry())
        running = []
        for run in controllers:
            own = await _with_its_rights(api, client, _name_of(run))
            informers = Informers(own, clock=clock, rng=clock.rng, whole=kept_whole)
            context = ControllerContext(
                own, clock=clock, rng=clock.rng, registry=scene.registry, informers=informers
            )
            scene.explanations[_name_of(run)] = context.explanations
            running.append(asyncio.create_task(run(context)))
        try:
            return await script(scene)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await store.close()

    return virtual.run(whole, start=start, seed=seed)
