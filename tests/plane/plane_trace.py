"""Runs the whole plane on the virtual clock and prints every write it made: `plane_trace.py SEED`.

All controllers, both schedulers, a scripted node and two controllers of the toolkit's example, which fight
for the same crews, work off one busy afternoon. A program of its own, since
what could differ between two runs (the order of sets of strings, addresses of objects) is the same within
one process.
"""

from __future__ import annotations

import asyncio
import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apiserver.crd import widgets
from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import DeleteOptions
from longshore.client.local import LocalClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.node.capacity import Capacity
from longshore.node.runtime import Container
from longshore.store import Entry, Key, Staged, Store
from longshore.testing import Run, ScriptedNode
from longshore.testing.world import World
from support.places import ROOT

NS, OTHER = "default", "doomed"
JOBS, CRONJOBS, PODS = ("batch/v1", "Job"), ("batch/v1", "CronJob"), ("v1", "Pod")
GANGS = ("batch.volcano.sh/v1alpha1", "Job")
GANG_CRONJOBS = ("batch.volcano.sh/v1alpha1", "CronJob")
TEMPLATES, FLOWS = ("flow.volcano.sh/v1alpha1", "JobTemplate"), ("flow.volcano.sh/v1alpha1", "JobFlow")
QUEUES, COMMANDS = ("scheduling.volcano.sh/v1beta1", "Queue"), ("bus.volcano.sh/v1alpha1", "Command")
MAPS, CLAIMS, NAMESPACES = ("v1", "ConfigMap"), ("v1", "PersistentVolumeClaim"), ("v1", "Namespace")
PRIORITIES = ("scheduling.k8s.io/v1", "PriorityClass")
ROLES = ("rbac.authorization.k8s.io/v1", "ClusterRole")
GEAR_VIEWER: Obj = {
    "metadata": {"name": "gears", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
    "rules": [{"apiGroups": ["example.org"], "resources": ["gears"], "verbs": ["get"]}],
}
DEFINITIONS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
ANYTHING: Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class TracedStore(Store):
    """Prints every write as it is staged, which is the order of revisions."""

    clock: VirtualClock

    def stage(self, key: Key, obj: Obj, *, joined: bool = False) -> Staged:
        return self._print("put", super().stage(key, obj, joined=joined))

    def stage_update(self, newest: Entry, obj: Obj, *, joined: bool = False) -> Staged:
        return self._print("update", super().stage_update(newest, obj, joined=joined))

    def stage_delete(self, key: Key, obj: Obj, *, joined: bool = False) -> Staged:
        return self._print("delete", super().stage_delete(key, obj, joined=joined))

    def _print(self, verb: str, staged: Staged) -> Staged:
        entry = staged.entry
        print(f"{self.clock.monotonic():.6f}", verb, entry.key, entry.raw.decode())
        return staged


async def main(clock: VirtualClock) -> None:
    store = TracedStore.open(None)
    assert isinstance(store, TracedStore)
    store.clock = clock
    node = ScriptedNode(clock, script_of(clock.rng), capacity=CAPACITY)
    async with World(clock, store=store, nodes=[node], zone=cron.load("Europe/Berlin")).running() as world:
        crew = loaded(ROOT / "examples" / "toolkit" / "crew.py")
        context = [ControllerContext(world.client, clock=clock, rng=clock.rng) for _ in range(2)]
        tasks = [asyncio.create_task(crew.CrewController(each).run()) for each in context]
        await an_afternoon(clock, world.client)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await store.close()


def loaded(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def script_of(rng: random.Random) -> Callable[[Container], Run]:
    """Most runs end well after some seconds; some fail, and those named `hang` never end by themselves."""

    def script(container: Container) -> Run:
        seconds = None if "hang" in container.pod else rng.uniform(1, 40)
        code = rng.choice((1, 3, 42)) if rng.random() < 0.3 and "good" not in container.pod else 0
        return Run(seconds=seconds, code=code, on_term=rng.uniform(0, 3))

    return script


def pod_spec(restart: str = "Never", **more: Any) -> Obj:
    return {"restartPolicy": restart, "containers": [{"name": "main", "image": "i", **CPU}], **more}


CAPACITY = Capacity({"cpu": "8", "memory": "8Gi", "ephemeral-storage": "9Gi", "pods": "30"})
"""Less than is wanted: pods wait, and some make room for others."""
CPU: Obj = {"resources": {"requests": {"cpu": "500m"}}}


def a_job(name: str, restart: str = "Never", **spec: Any) -> Obj:
    template = {"spec": pod_spec(restart, **spec.pop("pod", {}))}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def a_gang(name: str, *tasks: tuple[str, int], **spec: Any) -> Obj:
    rows = [{"name": t, "replicas": n, "template": {"spec": pod_spec()}} for t, n in tasks]
    return {"metadata": {"name": name}, "spec": {"schedulerName": "volcano", "tasks": rows, **spec}}


def a_cronjob(name: str, schedule: str, inner: Obj, **spec: Any) -> Obj:
    template = {"spec": inner["spec"]}
    return {"metadata": {"name": name}, "spec": {"schedule": schedule, "jobTemplate": template, **spec}}


async def an_afternoon(clock: VirtualClock, client: LocalClient) -> None:
    rng = clock.rng
    await client.create(NAMESPACES, {"metadata": {"name": OTHER}})
    await client.create(ROLES, GEAR_VIEWER)
    await clock.sleep(1)  # until it has its service account
    failure_rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}}
    restart_task = [{"event": "PodFailed", "action": "RestartTask"}]
    jobs = (
        (JOBS, a_job("plain", completions=6, parallelism=3, backoffLimit=4)),
        (JOBS, a_job("indexed", completionMode="Indexed", completions=8, parallelism=4, backoffLimit=10)),
        (
            JOBS,
            a_job(
                "each-index",
                completionMode="Indexed",
                completions=6,
                parallelism=6,
                backoffLimitPerIndex=1,
                maxFailedIndexes=3,
                podFailurePolicy={"rules": [failure_rule]},
            ),
        ),
        (JOBS, a_job("on-failure", "OnFailure", completions=3, parallelism=2)),
        (JOBS, a_job("deadline-hang", activeDeadlineSeconds=90)),
        (JOBS, a_job("short-lived-good", ttlSecondsAfterFinished=30, completions=2)),
        (JOBS, a_job("suspended", suspend=True, completions=2, parallelism=2)),
        (GANGS, a_gang("gang", ("chief", 1), ("worker", 4), policies=restart_task, maxRetry=3)),
        (
            GANGS,
            a_gang("keys", ("w", 2), plugins={"ssh": [], "svc": [], "env": []}, ttlSecondsAfterFinished=60),
        ),
        (GANGS, a_gang("hang", ("w", 3), policies=[{"event": "PodEvicted", "action": "RestartJob"}])),
        (TEMPLATES, a_gang("first", ("w", 2))),
        (TEMPLATES, a_gang("second-good", ("w", 1))),
        (
            FLOWS,
            {
                "metadata": {"name": "flow"},
                "spec": {
                    "jobRetainPolicy": "delete",
                    "flows": [
                        {"name": "first"},
                        {"name": "second-good", "dependsOn": {"targets": ["first"]}},
                    ],
                },
            },
        ),
        (CRONJOBS, a_cronjob("often", "* * * * *", a_job("x"), concurrencyPolicy="Replace")),
        (CRONJOBS, a_cronjob("never-two", "*/2 * * * *", a_job("x"), concurrencyPolicy="Forbid")),
        (GANG_CRONJOBS, a_cronjob("gangs", "*/3 * * * *", a_gang("x", ("w", 2)))),
        (QUEUES, {"metadata": {"name": "batch"}, "spec": {"weight": 2, "capability": {"cpu": "2"}}}),
        *(
            (DEFINITIONS, widgets.definition(widgets.version(spec=ANYTHING), kind=kind, group=group))
            for kind, group in (("Gear", "example.org"), ("Wheel", "example.net"), ("Bolt", "example.com"))
        ),
    )
    for what, obj in jobs:
        await client.create(what, obj, NS if what not in (QUEUES, DEFINITIONS) else "")
        await clock.sleep(rng.expovariate(2))
    await client.create(GANGS, a_gang("queued", ("w", 6), queue="batch"), NS)
    await a_volume(client)
    for name in ("doomed-hang", "doomed-good"):
        await client.create(JOBS, a_job(name, completions=3, parallelism=3), OTHER)
    for n in range(5):
        await client.create(("example.org/v1", "Gear"), {"metadata": {"name": f"g{n}"}}, NS)
    await client.create(PRIORITIES, {"metadata": {"name": "high"}, "value": 1000})
    await client.create(JOBS, a_job("urgent", parallelism=4, pod={"priorityClassName": "high"}), NS)
    await asyncio.gather(disturb(clock, client), commands(clock, client), crews(clock, client))
    await client.delete(NAMESPACES, OTHER)
    await client.patch(JOBS, "suspended", {"spec": {"suspend": False}}, NS)
    await client.delete_collection(DEFINITIONS)
    await client.delete(JOBS, "plain", NS, DeleteOptions(propagation="Foreground"))
    await client.delete(CLAIMS, "data", NS)
    await clock.sleep(300)
    for what, name in ((CRONJOBS, "often"), (CRONJOBS, "never-two"), (GANG_CRONJOBS, "gangs")):
        await client.patch(what, name, {"spec": {"suspend": True}}, NS)
    await clock.sleep(4000)  # until the first events are forgotten


async def a_volume(client: LocalClient) -> None:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await client.create(CLAIMS, {"metadata": {"name": "data"}, "spec": wanted}, NS)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    await client.create(JOBS, a_job("with-volume", pod={"volumes": volumes}), NS)


async def disturb(clock: VirtualClock, client: LocalClient) -> None:
    """Somebody deletes pods, evicts them and changes sizes, for ten minutes."""
    for _ in range(20):
        await clock.sleep(clock.rng.expovariate(1 / 30))
        pods = (await client.list(PODS, NS)).items
        if not pods:
            continue
        name = clock.rng.choice(pods)["metadata"]["name"]
        try:
            await client.delete(PODS, name, NS)
            await client.patch(JOBS, "indexed", {"spec": {"parallelism": clock.rng.randrange(1, 6)}}, NS)
        except StatusError as err:
            if err.code not in (404, 409, 422):
                raise


async def crews(clock: VirtualClock, client: LocalClient) -> None:
    for number in range(3):
        meta = {"name": f"crew-{number}", "labels": {"example.org/crew": ""}}
        await client.create(MAPS, {"metadata": meta, "data": {"size": "2"}}, NS)
    for _ in range(20):
        await clock.sleep(clock.rng.expovariate(1 / 10))
        size = {"data": {"size": str(clock.rng.randrange(4))}}
        await client.patch(MAPS, f"crew-{clock.rng.randrange(3)}", size, NS)


async def commands(clock: VirtualClock, client: LocalClient) -> None:
    """A person stops one gang and lets it go on, and closes a queue."""
    for action in ("AbortJob", "ResumeJob"):
        await clock.sleep(60)
        target = {"apiVersion": GANGS[0], "kind": "Job", "name": "hang"}
        job = await client.get(GANGS, "hang", NS)
        target |= {"uid": job["metadata"]["uid"], "controller": True}
        command = {"metadata": {"generateName": "c-"}, "action": action, "target": target}
        await client.create(COMMANDS, command, NS)


if __name__ == "__main__":
    virtual.run(main, seed=int(sys.argv[1]))
