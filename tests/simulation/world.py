"""Plays a scenario: an API, controllers, schedulers and a node on the virtual clock, and what people do.

All parts are those of `longshore up`, on the scripted machine. They are one process or three; each dies and
comes back as the scenario says, with nothing but what is stored. Then it gets calm, and all has to come to
rest.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from longshore.api import cron, job_labels
from longshore.api.errors import StatusError
from longshore.api.facts import job_state, kinds, pod_state
from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.client import Client, DeleteOptions, What
from longshore.client.local import LocalClient
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time.virtual import VirtualClock
from longshore.machinery.work_limits import WorkLimits
from longshore.plane import controllers, scheduling
from longshore.plane.plane import Parts, Plane
from longshore.plane.wiring import FOLLOWED_WHOLE, Wiring
from longshore.testing import Death, FaultyClient, MortalClient, ScriptedMachine, SeededKeys
from simulation import mortal_node, older_journal, shuffled, story_invariants
from simulation.mortal_node import Life
from simulation.old_looks import OldLooks
from simulation.outcomes import Outcomes
from simulation.record import CRONJOBS, GANGS, JOBS, PODS, WORK, BugLog, Record, RecordingStore
from simulation.scenario import NAMESPACE, Crash, Deed, Scenario, Who
from simulation.sight import Shortsighted, Sight

KINDS: Final[dict[str, What]] = {
    "job": kinds.JOBS,
    "cronjob": kinds.CRON_JOBS,
    "gang": kinds.VOLCANO_JOBS,
    "queue": kinds.QUEUES,
    "podgroup": kinds.POD_GROUPS,
    "pod": kinds.PODS,
    "priorityclass": ("scheduling.k8s.io/v1", "PriorityClass"),
    "budget": ("policy/v1", "PodDisruptionBudget"),
    "quota": ("v1", "ResourceQuota"),
}
_OF_NO_NAMESPACE: Final = ("queue", "priorityclass")
_FIRST_NODE: Final = "node"
_TOLD: Final = {JOBS: "job", CRONJOBS: "cronjob", GANGS: "vcjob", PODS: "pod"}
"""The words of `longshore why` for what is stored."""
_ALWAYS: Final = ("garbage", "job", "podgc", "ttl")
_FOR: Final = {
    "cronjob": ("cronjob",),
    "gang": ("volcano-gc", "volcano-job", "volcano-podgroup", "volcano-queue"),
}
_LIMITS: Final = WorkLimits(
    workers=dict.fromkeys(("garbage", "job", "ttl", "volcano-job", "volcano-podgroup", "volcano-queue"), 4)
)
"""As many objects side by side as a scenario has: a run makes 440 tasks instead of 650."""
_REST_SECONDS: Final = 320.0
"""Nothing happens for so long only if nothing is left to do: the longest wait of any part, for pods that are
never seen, is five minutes."""
_RETRY_SECONDS: Final = 620.0
"""A Job that keeps failing starts its next pod after ten minutes at most."""
_UNREST_SECONDS: Final = 12_800.0
"""What has not come to rest by then never does."""
_REFUSALS: Final = frozenset((400, 403, 404, 409, 422, 429))
"""Answers to a deed that comes at the wrong moment."""


def play(scenario: Scenario) -> Record:
    return shuffled.run(lambda clock: _play(scenario, clock), scenario.seed, shuffled=scenario.shuffled)


async def _play(scenario: Scenario, clock: VirtualClock) -> Record:
    record = Record(scenario)
    outcomes = Outcomes(scenario.seed)
    for node in (_FIRST_NODE, *(each["metadata"]["name"] for each in scenario.nodes)):
        record.machines[node] = ScriptedMachine(clock, outcomes)
    world = _World(scenario, clock, record)
    handler = BugLog(record)
    logging.getLogger("longshore").addHandler(handler)
    try:
        await world.begin()
        async with world.living():
            await world.deeds()
            await world.rest()
            if story_invariants.is_judged(scenario):
                await world.ask_why()
    finally:
        logging.getLogger("longshore").removeHandler(handler)
        await world.close()
    return record


class _World:
    def __init__(self, scenario: Scenario, clock: VirtualClock, record: Record) -> None:
        self._scenario, self._clock, self._record = scenario, clock, record
        self._store = RecordingStore.of(record, clock)
        self._up, self._calm = asyncio.Event(), asyncio.Event()
        self._faulty: list[FaultyClient] = []
        self._dying: list[asyncio.Task[None]] = []
        self._lives = 0
        self._nodes: dict[str, asyncio.Task[None]] = {}
        self._boots: dict[str, Life] = {}
        self._sights: dict[str, Sight] = {"controllers": Sight(clock), "scheduler": Sight(clock)}
        extra = [name for kind in sorted(scenario.kinds) for name in _FOR.get(kind, ())]
        self._controllers = tuple(sorted((*_ALWAYS, *extra)))
        self._plane = self._served()

    def _served(self) -> Plane:
        clock, rng = self._clock, self._dice("plane")
        zone, keys = cron.load("Europe/Berlin"), SeededKeys(rng)
        parts = Parts(self._store, clock, rng, zone, keys, self._controllers)
        quiet, shortcuts = self._scenario.quiet_watches, self._scenario.shortcuts
        api = Api(ApiParts(self._store, clock, rng, shortcuts=shortcuts, quiet_watches=quiet))
        return Plane(parts, api)

    def _dice(self, who: str) -> random.Random:
        return random.Random(f"{who} {self._lives} {self._scenario.seed}")

    async def begin(self) -> None:
        await self._plane.prepare()
        client = self._plane.client
        for namespace in self._scenario.namespaces:
            if namespace != NAMESPACE:
                await client.create(("v1", "Namespace"), {"metadata": {"name": namespace}})
            await client.create(("v1", "ServiceAccount"), {"metadata": {"name": "default"}}, namespace)
        for node in self._scenario.nodes:
            await client.create(kinds.NODES, node)
        self._up.set()

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """All parts run beside the block."""
        who: tuple[Who, ...] = ("all",) if self._scenario.together else ("controllers", "scheduler", "node")
        tasks = [asyncio.create_task(self._live(each)) for each in who]
        try:
            yield
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # The parts

    async def _live(self, who: Who) -> None:
        """One process, from death to death."""
        stale = False
        for crash in (crash for crash in self._scenario.crashes if crash.who == who):
            if not await self._until_death(who, crash, stale):
                return
            stale = crash.stale
            if who == "all":
                self._up.clear()
            await self._clock.sleep(crash.away)
            if who == "all":
                if self._scenario.upgrades and self._lives == 1:
                    self._store = older_journal.reopened(self._store)
                self._plane = self._served()
                self._up.set()
        await self._run(who, self._client(who, stale), Life())

    async def _until_death(self, who: Who, crash: Crash, stale: bool) -> bool:
        """Runs until this death; False if the run is over before it comes."""
        death = Death.SEEN if crash.seen else Death.UNSEEN
        mortal = MortalClient(self._client(who, stale), self._clock, crash.write, death)
        life = Life()
        work = asyncio.create_task(self._run(who, mortal, life))
        dead, calm = asyncio.create_task(mortal.dead.wait()), asyncio.create_task(self._calm.wait())
        try:
            await asyncio.wait((work, dead, calm), return_when=asyncio.FIRST_COMPLETED)
            if not dead.done() and not mortal.over:
                mortal.spare()
                await work
                return False
            await dead
            life.is_over = True
            return True
        finally:
            for task in (work, dead, calm):
                task.cancel()
            self._dying.append(work)  # it may wait for an answer that never comes; nobody waits for it

    def _client(self, who: Who, stale: bool) -> Client:
        client: Client = LocalClient(self._plane.api)
        trouble = self._scenario.trouble
        if self._scenario.loses_sight and who != "node":
            client = Shortsighted(client, self._sights["controllers" if who == "all" else who])
        if stale:
            client = OldLooks(client, self._store, self._dice("old looks"))
        if (trouble.rate or trouble.lag) and not self._calm.is_set():
            seed = self._dice("faults").randrange(1 << 30)
            faulty = FaultyClient(client, self._clock, seed, rate=trouble.rate, lag=trouble.lag)
            self._faulty.append(faulty)
            return faulty
        return client

    async def _run(self, who: Who, client: Client, life: Life) -> None:
        self._lives += 1
        plane, clock, rng = self._plane, self._clock, self._dice(who)
        parts = plane.parts
        informers = Informers(client, clock=clock, rng=rng, reads=FOLLOWED_WHOLE)
        keys, zone = SeededKeys(rng), parts.zone
        wiring = Wiring(clock, rng, informers, zone=zone, keys=keys, reasons=plane.book, limits=_LIMITS)
        tasks: list[asyncio.Task[None]] = []
        try:
            if who in ("all", "controllers"):
                tasks += controllers.start(self._controllers, client, wiring)
            if who in ("all", "scheduler"):
                place_by = plane.api.place_by if who == "all" else None
                tasks += scheduling.start(client, wiring, place_by=place_by)
            if who in ("all", "node"):
                for name in self._record.machines:
                    tasks.append(asyncio.create_task(self._run_node(client, wiring, name, life)))
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run_node(self, client: Client, wiring: Wiring, name: str, life: Life) -> None:
        """A node, again and again: its machine may go down."""
        machine, cpus = self._record.machines[name], self._scenario.cpus
        while True:
            boot = self._boots[name] = Life()
            # What a node knows is gone with its machine: it looks at everything anew.
            fresh = Informers(client, clock=self._clock, rng=wiring.rng)
            own = msgspec.structs.replace(wiring, informers=fresh)
            node = asyncio.create_task(mortal_node.run(client, own, name, machine, boot, cpus=cpus))
            self._nodes[name] = node
            try:
                await asyncio.wait([node])
            finally:
                boot.is_over = boot.is_over or life.is_over
                node.cancel()
            if not node.cancelled():
                node.result()

    async def close(self) -> None:
        await self._store.close()

    # What people do

    async def deeds(self) -> None:
        for deed in self._scenario.deeds:
            await self._clock.sleep(deed.at - self._clock.monotonic())
            await self._up.wait()
            try:
                await self._do(deed)
            except StatusError as err:
                if err.code not in _REFUSALS:
                    raise
        await self._clock.sleep(self._scenario.calm_at - self._clock.monotonic())
        self._calm.set()
        for client in self._faulty:
            client.calm()

    async def _do(self, deed: Deed) -> None:
        client, namespace = self._plane.client, deed.namespace
        match deed.verb:
            case "create":
                body = {"metadata": {"name": deed.name}, **deed.body}
                namespace = "" if deed.kind in _OF_NO_NAMESPACE else namespace
                self._record.acknowledged.append(await client.create(KINDS[deed.kind], body, namespace))
            case "patch":
                answer = await client.patch(KINDS[deed.kind], deed.name, deed.body, namespace)
                self._record.acknowledged.append(answer)
            case "delete":
                options = DeleteOptions(propagation=deed.body["propagation"])
                await client.delete(KINDS[deed.kind], deed.name, namespace, options)
            case "delete a pod":
                for name in await self._pods(deed):
                    await client.delete(kinds.PODS, name, namespace)
            case "evict a pod":
                for name in await self._pods(deed):
                    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
                    await client.create(kinds.PODS, eviction, namespace, name=name, subresource="eviction")
            case "relabel a pod":
                for name in await self._pods(deed):
                    await self._relabel(client, (namespace, name), deed.body["seconds"])
            case "command":
                await self._command(client, deed)
            case "lose the machine":
                self._record.machines[_FIRST_NODE].lose()
                if (node := self._nodes.get(_FIRST_NODE)) is not None:
                    self._boots[_FIRST_NODE].is_over = True
                    node.cancel()
            case "lose sight":
                who = "controllers" if self._scenario.together else deed.body["who"]
                self._sights[who].lose(KINDS[deed.kind], deed.body["seconds"])
            case "jump":
                self._clock.jump(deed.body["seconds"])

    async def _pods(self, deed: Deed) -> list[str]:
        """The pod that is meant, if there is one."""
        pods = (await self._plane.client.list(kinds.PODS, deed.namespace)).items
        names = sorted(
            p["metadata"]["name"] for p in pods if p["metadata"]["name"].startswith(f"{deed.name}-")
        )
        nth = deed.body["nth"]
        return names[nth : nth + 1]

    async def _relabel(self, client: LocalClient, key: tuple[str, str], seconds: float | None) -> None:
        """Takes a pod out of its Job's selection, and puts it back unless `seconds` is None. Not one that has
        ended: it was counted, and would be once more when it comes back."""
        namespace, name = key
        pod = await client.get(kinds.PODS, name, namespace)
        if pod_state.has_ended(pod):
            return
        own = pod["metadata"]["labels"][job_labels.CONTROLLER_UID]
        await client.patch(kinds.PODS, name, _labelled("stranger"), namespace)
        if seconds is not None:
            await self._clock.sleep(seconds)
            await client.patch(kinds.PODS, name, _labelled(own), namespace)

    async def _command(self, client: LocalClient, deed: Deed) -> None:
        gang = await client.get(kinds.VOLCANO_JOBS, deed.name, deed.namespace)
        target: Obj = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": deed.name}
        target |= {"uid": gang["metadata"]["uid"], "controller": True}
        command = {"metadata": {"generateName": "c-"}, "action": deed.body["action"], "target": target}
        await client.create(("bus.volcano.sh/v1alpha1", "Command"), command, deed.namespace)

    async def rest(self) -> None:
        """Waits until nothing happens any more. CronJobs are suspended for it."""
        await self._up.wait()
        for cron_job in (await self._plane.client.list(kinds.CRON_JOBS)).items:
            meta, suspend = cron_job["metadata"], {"spec": {"suspend": True}}
            self._record.acknowledged.append(
                await self._plane.client.patch(kinds.CRON_JOBS, meta["name"], suspend, meta["namespace"])
            )
        begun = self._clock.monotonic()
        while (now := self._clock.monotonic()) < begun + _UNREST_SECONDS:
            changes = reversed(self._record.changes)
            last = next((change.at for change in changes if change.key.storage in WORK), 0.0)
            quiet = _RETRY_SECONDS if self._waits_for_retry() else _REST_SECONDS
            rest = max(begun, last) + quiet - now
            if rest <= 0:
                self._record.ended_quietly = True
                return
            await self._clock.sleep(rest)

    def _waits_for_retry(self) -> bool:
        """Whether there is a Job that may be waiting to start its next pod."""
        jobs = self._record.last(JOBS).values()
        return any(not job_state.has_ended(job) and not job["spec"].get("suspend") for job in jobs)

    async def ask_why(self) -> None:
        """Has the stories of all objects told that are left."""
        for storage, word in _TOLD.items():
            for uid, obj in self._record.last(storage).items():
                meta = obj["metadata"]
                namespace = f"/apis/longshore.dev/v1/namespaces/{meta['namespace']}"
                path = f"{namespace}/explanations/{word}.{meta['name']}"
                answer = await self._plane.client.request("GET", path)
                self._record.stories[uid] = msgspec.json.decode(answer.body)


def _labelled(uid: str) -> Obj:
    return {"metadata": {"labels": {job_labels.CONTROLLER_UID: uid}}}
