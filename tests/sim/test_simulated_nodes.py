"""The nodes of a simulation are the real agent: they say and ask what a node of `longshore up` does."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import msgspec

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.client.ask import Ask
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Exit, Run
from longshore.sim.chronicle import Chronicle
from longshore.sim.settings import SimSettings
from longshore.sim.simulate import world_of
from longshore.store import Store
from longshore.testing import Cluster
from longshore.testing.world import World
from support.longshore_process import longshore_up


class Heard(LocalClient):
    """Notes which verbs were used on pods."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.verbs: list[str] = []

    async def _one(self, ask: Ask) -> Obj:
        if ask.resource.plural == "pods":
            self.verbs.append(ask.verb)
        return await super()._one(ask)


Scene = Callable[[LocalClient, Heard, VirtualClock], Awaitable[None]]


def play(scene: Scene) -> None:
    """One node, on which each pod runs for a minute, and stops within five seconds."""

    async def whole(clock: VirtualClock) -> None:
        api = Api(ApiParts(Store.open(None), clock, clock.rng))
        theirs, client = Heard(api), LocalClient(api)
        world = World(clock, Run(60.0, on_term=5.0), api=api, client=theirs, store=api.store)
        async with world.running():
            await clock.sleep(1.0)
            spec = {"nodeName": "node", "containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
            await client.create(kinds.PODS, {"metadata": {"name": "p"}, "spec": spec}, "default")
            await scene(client, theirs, clock)

    virtual.run(whole)


async def left(client: LocalClient) -> list[str]:
    return [pod["metadata"]["name"] for pod in (await client.list(kinds.PODS, "default")).items]


def test_a_pod_that_ended_still_says_when_it_began() -> None:
    async def scene(client: LocalClient, theirs: Heard, clock: VirtualClock) -> None:
        await clock.sleep(1.0)
        began = (await client.get(kinds.PODS, "p", "default"))["status"]["startTime"]
        await clock.sleep(60.0)
        status = (await client.get(kinds.PODS, "p", "default"))["status"]
        assert (status["phase"], status["startTime"]) == ("Succeeded", began)
        (container,) = status["containerStatuses"]
        assert container["state"]["terminated"]["finishedAt"] > began

    play(scene)


def test_a_pod_that_ended_is_removed_without_its_node() -> None:
    async def scene(client: LocalClient, theirs: Heard, clock: VirtualClock) -> None:
        await clock.sleep(61.0)
        await client.delete(kinds.PODS, "p", "default")
        await clock.sleep(1.0)
        assert await left(client) == []
        assert theirs.verbs == ["update", "update"]  # it runs, it has ended

    play(scene)


def test_a_pod_that_runs_is_removed_by_its_node_when_it_has_stopped() -> None:
    async def scene(client: LocalClient, theirs: Heard, clock: VirtualClock) -> None:
        await clock.sleep(10.0)
        await client.delete(kinds.PODS, "p", "default")
        await clock.sleep(4.0)
        assert await left(client) == ["p"]
        await clock.sleep(2.0)
        assert await left(client) == []
        assert (theirs.verbs.count("delete"), theirs.verbs[-1]) == (1, "delete")

    play(scene)


# ---- a Job with an init container, a sidecar and a probe, in three places

PROBED: Obj = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "whole"},
    "spec": {
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 1,
                "initContainers": [
                    {"name": "fetch", "image": "i", "command": ["sh", "-c", "sleep 2"]},
                    {
                        "name": "proxy",
                        "image": "i",
                        "command": ["sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait"],
                        "restartPolicy": "Always",
                    },
                ],
                "containers": [
                    {
                        "name": "main",
                        "image": "i",
                        "command": ["sh", "-c", "sleep 6"],
                        "readinessProbe": {
                            "exec": {"command": ["true"]},
                            "initialDelaySeconds": 1,
                            "periodSeconds": 1,
                        },
                    }
                ],
            }
        }
    },
}
RULES = (Rule("*", (Exit(0, after=6.0),)), Rule("*", (Exit(0, after=2.0),), container="fetch"))
JOBS = "/apis/batch/v1/namespaces/default/jobs"
MOMENTS = (0.5, 1.0, 2.5, 5.0, 30.0)
"""Seconds after the Job's creation: the first init container runs, then the main one, is ready, has ended."""


def told(pod: Obj) -> bytes:
    """The bytes of a pod's status. Its address follows from its uid, which the dice choose."""
    status = pod["status"]
    return msgspec.json.encode(status).replace(status["podIP"].encode(), b"ADDRESS")


def simulated(start: datetime) -> list[bytes]:
    """The status of the pod at each moment, in a simulation."""

    async def whole(clock: VirtualClock) -> list[bytes]:
        settings = SimSettings([PROBED], start, "UTC", 60.0, rules=RULES)
        world = world_of(settings, clock, Chronicle(clock))
        async with world.running():
            await clock.sleep((start - clock.now()).total_seconds())
            await world.client.create(kinds.JOBS, PROBED, "default")
            seen, passed = [], 0.0
            for moment in MOMENTS:
                await clock.sleep(moment - passed)
                passed = moment
                (pod,) = (await world.client.list(kinds.PODS, "default")).items
                seen.append(told(pod))
            return seen

    return virtual.run(whole, start=datetime(2026, 1, 1, tzinfo=UTC))


def in_a_cluster() -> tuple[datetime, list[bytes]]:
    with Cluster(start="2026-01-01") as c:
        for rule in RULES:
            c.pods.script(rule.name, *rule.runs, container=rule.container)
        c.clock.advance_to("2026-01-01T00:01:00")
        start = c.clock.now()
        c.apply(PROBED)
        seen = []
        for before, moment in zip((0.0, *MOMENTS), MOMENTS, strict=False):
            c.clock.advance(moment - before)
            (pod,) = c.list("pods")
            seen.append(told(pod))
        return start, seen


def test_a_simulated_pod_has_the_statuses_of_one_in_a_cluster() -> None:
    start, wanted = in_a_cluster()
    assert simulated(start) == wanted
    phases = [msgspec.json.decode(status)["phase"] for status in wanted]
    assert phases == ["Pending", "Pending", "Running", "Running", "Succeeded"]


_MASKS: Sequence[tuple[str, str]] = (
    (r'"\d{4}-\d\d-\d\dT[^"]*Z"', '"TIME"'),
    (r'"process://[^"]*"', '"ID"'),
    (r"kube-api-access-\w+", "kube-api-access"),
    (r'"(podIP|ip)":"[^"]*"', r'"\1":"IP"'),
)


def masked(status: bytes | Any) -> Any:
    """A status without times, identifiers of containers and addresses."""
    text = (status if isinstance(status, bytes) else msgspec.json.encode(status)).decode()
    for pattern, name in _MASKS:
        text = re.sub(pattern, name, text)
    return msgspec.json.decode(text)


def test_a_simulated_pod_has_the_statuses_of_one_that_ran() -> None:
    wanted = distinct(simulated(datetime(2026, 1, 1, 0, 1, tzinfo=UTC)))
    seen = []
    with longshore_up() as running:
        running.made("POST", JOBS, PROBED)
        until = time.monotonic() + 60
        while "completionTime" not in running.made("GET", f"{JOBS}/whole").get("status", {}):
            assert time.monotonic() < until
            seen += running.made("GET", "/api/v1/namespaces/default/pods")["items"]
            time.sleep(0.05)
        seen += running.made("GET", "/api/v1/namespaces/default/pods")["items"]
    assert len(wanted) == 4
    assert distinct(pod["status"] for pod in seen if "startTime" in pod["status"]) == wanted


def distinct(statuses: Iterable[Any]) -> list[Any]:
    """The statuses, masked, without those that are as the one before."""
    return [status for status, _ in groupby(map(masked, statuses))]
