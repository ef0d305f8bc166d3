"""Collector and TTL controller die after each of their writes in turn: the end is always the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from controllers.garbage import dying
from controllers.garbage.garbage_scene import JOBS, MAPS, NAMESPACES, POD_SPEC, PODS, owner
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.controllers import garbage, ttl
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.virtual import VirtualClock
from support.volcano_queues import open_queue

CRONJOBS = ("batch/v1", "CronJob")
GROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
JOB_SPEC: Obj = {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}
BODIES: dict[tuple[str, str], Obj] = {
    MAPS: {},
    GROUPS: {},
    PODS: {"spec": POD_SPEC},
    JOBS: {"spec": JOB_SPEC},
    CRONJOBS: {"spec": {"schedule": "@daily", "jobTemplate": {"spec": JOB_SPEC}}},
}


class Scenario:
    """Both controllers, and a user that differs from scenario to scenario."""

    def controllers(self, client: Client, clock: VirtualClock) -> Any:
        async def both() -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(garbage.run(ControllerContext(client, clock=clock, rng=clock.rng)))
                tasks.create_task(ttl.run(ControllerContext(client, clock=clock, rng=clock.rng)))

        return both()

    async def script(self, client: Client, clock: VirtualClock) -> list[str]:
        self.client, self.clock = client, clock
        for name in ("default", "other"):
            await client.create(NAMESPACES, {"metadata": {"name": name}})
        await open_queue(client)  # PodGroups need one
        await self.user()
        await clock.sleep(400)
        return await self.left()

    async def user(self) -> None:
        raise NotImplementedError

    async def make(
        self, what: tuple[str, str], name: str, *owners: Obj, namespace: str = "default", **meta: Any
    ) -> Obj:
        metadata = {"name": name, "ownerReferences": [*owners], **meta}
        return await self.client.create(what, {"metadata": metadata, **BODIES[what]}, namespace)

    async def delete(self, what: tuple[str, str], name: str, how: Any) -> None:
        await self.client.delete(what, name, "default", DeleteOptions(propagation=how))

    async def left(self) -> list[str]:
        """Every object there is, with its owners, finalizers and whether it is being deleted."""
        found = []
        for what in BODIES:
            for obj in (await self.client.list(what)).items:
                meta = obj["metadata"]
                owners = ",".join(ref["name"] for ref in meta.get("ownerReferences") or ())
                words = [what[1], meta["namespace"], meta["name"], f"owners={owners}"]
                words += [*(meta.get("finalizers") or ()), "deleting" if "deletionTimestamp" in meta else ""]
                found.append(" ".join(filter(None, words)))
        return found


class Chain(Scenario):
    """CronJob, Jobs, pods: everything goes in the background."""

    async def user(self) -> None:
        top = await self.make(CRONJOBS, "top")
        for n in range(2):
            job = await self.make(JOBS, f"job-{n}", owner(top, CRONJOBS))
            for m in range(2):
                await self.make(PODS, f"pod-{n}-{m}", owner(job, JOBS))
        await self.delete(CRONJOBS, "top", "Background")


class Foreground(Scenario):
    """A tree in the foreground, with a dependent that somebody else holds."""

    async def user(self) -> None:
        top = await self.make(JOBS, "top")
        for n in range(2):
            middle = await self.make(MAPS, f"middle-{n}", owner(top, JOBS))
            await self.make(MAPS, f"leaf-{n}", owner(middle))
        await self.make(MAPS, "loose", owner(top, JOBS, blocks=False), finalizers=["example.com/hold"])
        await self.delete(JOBS, "top", "Foreground")


class Orphans(Scenario):
    """Dependents of two kinds are let go; one has another owner."""

    async def user(self) -> None:
        top, other = await self.make(JOBS, "top"), await self.make(MAPS, "other")
        await self.make(PODS, "pod", owner(top, JOBS), owner(other))
        await self.make(PODS, "pod-2", owner(top, JOBS))
        await self.make(GROUPS, "group", owner(top, JOBS))
        await self.delete(JOBS, "top", "Orphan")


class Ring(Scenario):
    """Three that own each other, one deleted in the foreground."""

    async def user(self) -> None:
        made = [await self.make(MAPS, f"m{n}") for n in range(3)]
        for n in range(3):
            refs = {"metadata": {"ownerReferences": [owner(made[n - 1])]}}
            await self.client.patch(MAPS, f"m{n}", refs, "default")
        await self.delete(MAPS, "m0", "Foreground")


class DoubleRing(Scenario):
    """Two that own each other, both deleted in the foreground."""

    async def user(self) -> None:
        one = await self.make(GROUPS, "one")
        two = await self.make(GROUPS, "two", owner(one, GROUPS))
        refs = {"metadata": {"ownerReferences": [owner(two, GROUPS)]}}
        await self.client.patch(GROUPS, "one", refs, "default")
        for name in ("one", "two"):
            await self.delete(GROUPS, name, "Foreground")


class TwoOwners(Scenario):
    """One owner goes, one stays."""

    async def user(self) -> None:
        a, b, c = [await self.make(MAPS, name) for name in "abc"]
        for n in range(3):
            await self.make(MAPS, f"child-{n}", owner(a), owner(b), owner(c))
        await self.delete(MAPS, "a", "Foreground")
        await self.delete(MAPS, "c", "Background")


class Misplaced(Scenario):
    """Owners that do not exist, or not here."""

    async def user(self) -> None:
        a = await self.make(MAPS, "a", namespace="other")
        await self.make(MAPS, "far", owner(a))
        await self.make(MAPS, "lost", owner(a, uid="nobody"))
        await self.make(MAPS, "half", owner(a, uid="nobody"), owner(await self.make(MAPS, "b")))


class Ttl(Scenario):
    """Jobs that are due at different times, and pods that go with them."""

    async def user(self) -> None:
        for name, seconds in (("now", 0), ("soon", 30), ("late", 9999)):
            job = await self.make(JOBS, name)
            await self.client.patch(JOBS, name, {"spec": {"ttlSecondsAfterFinished": seconds}}, "default")
            for n in range(2):
                await self.make(PODS, f"{name}-{n}", owner(job, JOBS))
            await self.finish(name, "Complete")

    async def finish(self, name: str, how: str) -> None:
        at = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {
            "startTime": at,
            "conditions": [
                {"type": interim, "status": "True", "lastProbeTime": at, "lastTransitionTime": at}
                for interim in ({"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[how], how)
            ],
        }
        if how == "Complete":
            status["completionTime"] = at
        await self.client.patch(JOBS, name, {"status": status}, "default", subresource="status")


class TtlByOutcome(Ttl):
    """A failed Job stays longer than one that succeeded; one has a finalizer of somebody else."""

    async def user(self) -> None:
        days = {"longshore.dev/ttl-after-success": "1m", "longshore.dev/ttl-after-failure": "72h"}
        for name, how in (("good", "Complete"), ("bad", "Failed"), ("held", "Complete")):
            finalizers = ["example.com/hold"] if name == "held" else []
            job = await self.make(JOBS, name, annotations=days, finalizers=finalizers)
            await self.make(PODS, f"{name}-pod", owner(job, JOBS))
            await self.finish(name, how)


EXPECTED: dict[type[Scenario], list[str]] = {
    Chain: [],
    Foreground: ["ConfigMap default loose owners=top example.com/hold deleting"],
    Orphans: [
        "ConfigMap default other owners=",
        "PodGroup default group owners=",
        "Pod default pod owners=other",
        "Pod default pod-2 owners=",
    ],
    Ring: [],
    DoubleRing: [],
    TwoOwners: [
        "ConfigMap default b owners=",
        *(f"ConfigMap default child-{n} owners=b" for n in range(3)),
    ],
    Misplaced: [
        "ConfigMap default b owners=",
        "ConfigMap default half owners=b",
        "ConfigMap other a owners=",
    ],
    Ttl: ["Pod default late-0 owners=late", "Pod default late-1 owners=late", "Job default late owners="],
    TtlByOutcome: [
        "Pod default bad-pod owners=bad",
        "Job default bad owners=",
        "Job default held owners= example.com/hold deleting",
    ],
}


@pytest.mark.parametrize("scenario", EXPECTED, ids=lambda scenario: scenario.__name__)
def test_the_end_is_the_same_after_any_death(scenario: type[Scenario]) -> None:
    played = [*dying.endings(scenario())]
    assert played[0] == EXPECTED[scenario]
    assert len(played) > 3
    for ending in played[1:]:
        assert ending == played[0]


@pytest.mark.parametrize(
    ("scenario", "writes"),
    [
        (Chain, 2 + 4),  # each Job and each pod is deleted once
        (Foreground, 2 + 2 + 1 + 2 + 1),  # each dependent once, and a finalizer of each that waited
        (Orphans, 3 + 1),  # each dependent is let go once, and the owner's finalizer
    ],
)
def test_no_more_is_written_than_needed(scenario: type[Scenario], writes: int) -> None:
    assert dying.telling(scenario()).undisturbed()[1] == writes
