"""What happens to a pod, told to its end, for tests in which something goes wrong meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from longshore.api.types import Obj
from longshore.testing.scripted_runtime import Run, RunScript
from support.node_world import NS, PODS, World, scripted


@dataclass(frozen=True)
class Story:
    name: str
    tell: Callable[[World], Awaitable[None]]
    script: RunScript = field(default_factory=lambda: scripted())


async def _plain(world: World) -> None:
    await world.create()


async def _with_a_volume(world: World) -> None:
    await world.create(volumes=[{"name": "v", "emptyDir": {}}])


async def _restarting(world: World) -> None:
    await world.create(restart="OnFailure")


async def _crowd(world: World) -> None:
    inits = [{"name": "one"}, {"name": "side", "restartPolicy": "Always"}, {"name": "two"}]
    await world.create(initContainers=inits, containers=[{"name": "main"}, {"name": "other"}])


async def _deleted(world: World) -> None:
    hook = {"preStop": {"sleep": {"seconds": 2}}}
    main = {"name": "main", "lifecycle": hook}
    await world.create(containers=[main], initContainers=[{"name": "side", "restartPolicy": "Always"}])
    await world.phase("Running")
    await world.client.patch(PODS, "p", {"metadata": {"finalizers": ["example.com/keep"]}}, NS)
    await world.client.delete(PODS, "p", NS)


async def _deadline(world: World) -> None:
    await world.create(activeDeadlineSeconds=20, terminationGracePeriodSeconds=5)


async def _refused(world: World) -> None:
    await world.create(containers=[{"name": "main", "resources": {"requests": {"cpu": "64"}}}])


STORIES = (
    Story("plain", _plain, scripted(main=Run(1.0, message="bye"))),
    Story("plain at once", _plain, scripted(main=Run(0.001, code=3))),
    Story("with a volume", _with_a_volume, scripted(main=Run(1.0))),
    Story("restarting", _restarting, scripted(main=[Run(1.0, 1), Run(1.0, 2), Run(5.0, 0)])),
    Story(
        "crowd", _crowd, scripted(one=Run(1.0), side=Run(None), two=Run(1.0), main=Run(4.0), other=Run(2.0))
    ),
    Story("deleted", _deleted, scripted(side=Run(None), main=Run(None, on_term=1.0))),
    Story("deadline", _deadline, scripted(main=Run(None, on_term=None))),
    Story("refused", _refused),
)


def ending(pod: Obj) -> Obj:
    status = pod["status"]
    shown: Obj = {key: status.get(key) for key in ("phase", "reason", "message", "podIP")}
    for part in ("initContainerStatuses", "containerStatuses"):
        for entry in status.get(part) or ():
            ended = entry["state"].get("terminated") or {}
            before = (entry["lastState"].get("terminated") or {}).get("exitCode")
            told = tuple(ended.get(key) for key in ("exitCode", "reason", "message", "containerID"))
            shown[entry["name"]] = (told, entry["restartCount"], before)
    shown["conditions"] = [(c["type"], c["status"], c.get("reason")) for c in status.get("conditions") or ()]
    shown["deleting"] = pod["metadata"].get("deletionGracePeriodSeconds")
    return shown
