"""Crews: a controller in one file, built on longshore's toolkit (docs/how-to/toolkit.md).

A ConfigMap with the label `example.org/crew` asks for pods: `data.size` of them, running `data.image`. A crew
that is too small is filled up, one that is too large reduced (the newest go first), and pods that carry its
label but have no owner are adopted. Run it against any Kubernetes:

    python examples/toolkit/crew.py ~/.kube/config
"""

from __future__ import annotations

import asyncio
import random
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longshore.api.facts import kinds
from longshore.api.facts.owners import controller_of, controller_ref, owner_index, owner_key
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.client.config.connection import from_kubeconfig
from longshore.client.http import HttpClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.election import Election
from longshore.machinery.events.recorder import reference
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import RealClock
from longshore.machinery.writes.claims import Claims
from longshore.machinery.writes.own_writes import OwnWrites
from longshore.machinery.writes.pod_control import PodControl, from_template

CREWS = ("v1", "ConfigMap")
LABEL = "example.org/crew"


# ---- decide: a pure function from what is there to what to do


@dataclass(frozen=True, slots=True)
class Plan:
    """`problem` is for the person who wrote the crew; nothing is done then."""

    create: int = 0
    delete: tuple[str, ...] = ()
    problem: str = ""


def decide(crew: Obj, pods: list[Obj]) -> Plan:
    text = (crew.get("data") or {}).get("size", "1")
    if not text.isdecimal():
        return Plan(problem=f"data.size: Invalid value: {text!r}: must be a whole number, 0 or more")
    active = [pod for pod in pods if is_active(pod)]
    if (missing := int(text) - len(active)) >= 0:
        return Plan(create=missing)
    newest = sorted(active, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
    return Plan(delete=tuple(pod["metadata"]["name"] for pod in newest[missing:]))


def is_active(pod: Obj) -> bool:
    ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return not ended and "deletionTimestamp" not in pod["metadata"]


def template(crew: Obj) -> Obj:
    image = (crew.get("data") or {}).get("image", "busybox")
    return {
        "metadata": {"labels": {LABEL: crew["metadata"]["name"]}},
        "spec": {"containers": [{"name": "member", "image": image}]},
    }


# ---- observe and act: caches, a queue of crews to look at, and writes through the client


class CrewController:
    def __init__(self, context: ControllerContext) -> None:
        self.client, self.informers = context.client, context.informers
        self.crews = self.informers.get(CREWS, labels=LABEL)
        self.pods = self.informers.get(kinds.PODS, indexers={"owner": owner_index})
        self.queue: WorkQueue[Key] = context.queue("crew", pauses=Doubling(1.0, 60.0))
        self.recorder = context.recorder("crew-controller")
        self.control = PodControl(self.client, self.recorder)
        self.own_writes: OwnWrites[Key] = OwnWrites({"pods": self.pods.cache}, context.clock)
        self.crews.add_handler(OnChange(lambda crew: self.queue.add(key_of(crew))))
        self.pods.add_handler(OnChange(self.pod_changed))

    def pod_changed(self, pod: Obj) -> None:
        """Handlers say only which crew to look at. What to do follows from what is there by then."""
        meta, ref = pod["metadata"], controller_of(pod)
        if ref is not None and ref["kind"] == "ConfigMap":
            self.queue.add((meta["namespace"], ref["name"]))
        elif ref is None and (crew := (meta.get("labels") or {}).get(LABEL)):
            self.queue.add((meta["namespace"], crew))

    async def run(self, workers: int = 5) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.informers.run())
            tasks.create_task(self.recorder.run())
            await self.informers.synced()  # a cache that is half full would look like missing pods
            tasks.create_task(run_workers(self.queue, self.sync, count=workers))

    async def sync(self, key: Key) -> None:
        """Brings one crew to its size. Whatever it raises, it is called again, later each time."""
        await self.own_writes.wait(key)  # a cache without our own new pods would make us create them twice
        crew = self.crews.cache.get(*key)
        if crew is None or "deletionTimestamp" in crew["metadata"]:
            return
        await self.act(key, crew, decide(crew, await self.observe(key, crew)))

    async def observe(self, key: Key, crew: Obj) -> list[Obj]:
        namespace, name = key

        def matches(labels: Mapping[str, str]) -> bool:
            return labels.get(LABEL) == name

        uid = crew["metadata"]["uid"]
        claims = Claims(
            self.client, kinds.PODS, crew, CREWS, matches, on_write=lambda pod: self.wrote(key, crew, pod)
        )
        owned = self.pods.cache.by_index("owner", owner_key(namespace, "ConfigMap", name, uid))
        return await claims.claim(owned + self.pods.cache.by_index("owner", namespace))

    async def act(self, key: Key, crew: Obj, plan: Plan) -> None:
        about = reference(crew, CREWS)
        if plan.problem:
            self.recorder.event(about, "Warning", "BadCrew", plan.problem)
            return

        ref = controller_ref(crew, CREWS)
        pod = from_template(template(crew), ref, generate_name=f"{key[1]}-")
        made = await self.control.create_all([pod] * plan.create, key[0], about)
        for one in made:
            if not isinstance(one, Exception):
                self.wrote(key, crew, one)
        for name in plan.delete:
            await self.control.delete(key[0], name, about)
        for one in made:
            if isinstance(one, Exception):
                raise one

    def wrote(self, key: Key, crew: Obj, pod: Obj) -> None:
        self.own_writes.wrote(key, crew["metadata"]["uid"], "pods", pod)


# ---- a process of its own, of which several may run while one works


async def main(kubeconfig: Path) -> None:
    connection = from_kubeconfig(kubeconfig)
    clock, rng = RealClock(), random.Random()
    async with HttpClient(connection, manager="crew-controller") as client:
        identity = f"{socket.gethostname()}_{rng.getrandbits(32):08x}"
        election = Election(
            client,
            namespace=connection.namespace,
            name="crew-controller",
            identity=identity,
            clock=clock,
            rng=rng,
        )
        controller = CrewController(ControllerContext(client, clock=clock, rng=rng))
        await election.lead(controller.run)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
