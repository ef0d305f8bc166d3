"""The loop of the gang scheduler: follows changes, and observes, decides and acts when that may help.

`pacing.py` says when to run, `decide.py` what to do, and `act.py` carries it out. Writes nothing itself.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from msgspec.structs import replace

from longshore.api import identifiers
from longshore.api.facts import kinds, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.machinery.informers.informer import Handler, OnChange
from longshore.machinery.reasons import Reason
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.fitting import verdict
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.gang import observe
from longshore.scheduler.gang.act import Actor
from longshore.scheduler.gang.cycle import Cycle, SeenGroup
from longshore.scheduler.gang.decide import decide
from longshore.scheduler.gang.members import Members
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.sums import together
from longshore.scheduler.gang.model.task import PENDING, PIPELINED, group_of
from longshore.scheduler.gang.node_figures import NodeFigures
from longshore.scheduler.gang.pacing import LATER_SECONDS, PAUSE_SECONDS, Pace, Traffic
from longshore.scheduler.gang.plan import GangPlan
from longshore.scheduler.gang.settings import ENQUEUE, Settings
from longshore.scheduler.gang.settled import Settled, is_at_rest
from longshore.scheduler.gang.trying.trial import rules_of

NAME: Final = "volcano"
_FAILURE_PAUSE_SECONDS: Final = 1.0
_BOUND_SECONDS: Final = 0.1
"""Seconds from a binding seen until the cycle that updates phases; no pod waits for it."""

log = logging.getLogger(__name__)


class GangScheduler:
    """Seconds from a binding in the watch to the cycle that updates phases. No pod waits for that cycle."""

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings | None = None,
        explanations: Explanations | None = None,
    ) -> None:
        """Reasons are added to `explanations`, by the key of the group."""
        self._cluster, self._clock, self._ledger = cluster, cluster.clock, cluster.ledger
        settings = settings or Settings()
        self._settings, self._gate_settings = settings, replace(settings, actions=(ENQUEUE,))
        self.pace = Pace(cluster.clock, cycle=self._cycle, gate=self._gate)
        self._members = Members()
        self._settled = Settled()
        self._active: dict[Key, None] = {}
        """Groups that the next cycle decides on: all but the settled ones."""
        self._seen = Settled()
        """Active groups with pods, as the gate saw them; valid until something about them changes."""
        self._traffic = Traffic(cluster.clock)
        self._hungry = False
        """Whether the last cycle left a gang waiting for room."""
        self._groups = cluster.follow(kinds.POD_GROUPS, _Groups(self))
        self._queues = cluster.follow(kinds.QUEUES, _Queues(self))
        self._hyper_nodes = Cache()
        self._quotas = cluster.follow(kinds.RESOURCE_QUOTAS, OnChange(lambda _: self._quota_changed()))
        self._shuffled: dict[str, float] = {}
        """When `shuffle` last ran for each plugin, in seconds since 1970."""
        self._figures = NodeFigures(cluster.client, cluster.clock)
        self._figures.want(self._looks_at_use())
        self._priorities = cluster.follow(kinds.PRIORITY_CLASSES, OnChange(self._priorities_changed))
        self._act = Actor(cluster, self, self._queues, name=NAME, explanations=explanations or Explanations())

    async def run(self, *, with_arrival: bool) -> None:
        """Schedules until cancelled; `with_arrival` says that the first gang arrives just now."""
        # Volcano before 1.11 has no such kind.
        self._hyper_nodes = await self._cluster.follow_if_served(
            kinds.HYPER_NODES, OnChange(lambda _: self.pace.room())
        )
        self.pace.start(with_arrival=with_arrival)
        measuring = asyncio.create_task(self._figures.run(self._measured))
        try:
            await self._act.run()
        finally:
            measuring.cancel()
            self.pace.stop()

    def _looks_at_use(self) -> bool:
        return "loads" in self._settings.reads

    def _measured(self) -> None:
        if self._settings.removes:
            self.pace.room()
        else:
            self._freed()

    # ---- what the cluster tells

    def pod_changed(self, pod: Obj) -> None:
        if self._members.still(pod):
            return
        before, changed = self._members.put(self._cluster.shapes.pod(pod), self._clock.monotonic())
        for key in changed:
            self.touch(key)
        if pod["spec"].get("nodeName"):
            self._act.reporter.placed(pod["metadata"]["uid"])
        self._hurry(None if before is None else before.obj, pod)

    def _hurry(self, before: Obj | None, pod: Obj) -> None:
        """Requests a cycle as soon as this change of a pod needs one."""
        if pod["spec"].get("nodeName"):
            if pod_state.has_ended(pod):
                self._freed()
            elif before is not None and not before["spec"].get("nodeName"):
                self.pace.tell(LATER_SECONDS if self._traffic.is_busy else _BOUND_SECONDS)
            else:
                self.pace.tell()
        elif (key := group_of(pod)) is not None and self.complete(key):
            self.pace.arrived()
        else:
            self.pace.tell()

    def complete(self, key: Key) -> bool:
        """Whether a group exists and has as many pods as it needs."""
        group = self._groups.get(*key)
        if group is None:
            return False
        return self._members.count(key) >= max((group.get("spec") or {}).get("minMember") or 0, 1)

    def pod_gone(self, pod: Obj) -> None:
        known, changed = self._members.remove(pod["metadata"]["uid"])
        for key in changed:
            self.touch(key)
        if known is not None:
            self._act.reporter.forget(known.uid)
        self._freed()

    def woken(self, flags: int) -> None:
        if flags & verdict.VOLUMES:
            self._act.claims.changed()
        if not len(self._members) and not len(self._groups):
            return
        if flags & ~(verdict.PODS | verdict.ROOM):
            self.pace.room()
        elif flags & verdict.ROOM:
            self._freed()

    def _freed(self) -> None:
        """Requests a cycle after room was freed: soon if a gang waits for room, else only for reports."""
        if self._hungry:
            self.pace.room()
        else:
            self.pace.tell()

    def touch(self, key: Key) -> None:
        """Marks a group as changed, so that the next cycle decides on it."""
        self._traffic.count()
        self._settled.drop(key)
        self._seen.drop(key)
        self._active[key] = None

    def configure(self, settings: Settings) -> None:
        """Applies other settings from now on. Every group is decided on again."""
        self._settings, self._gate_settings = settings, replace(settings, actions=(ENQUEUE,))
        self._figures.want(self._looks_at_use())
        for group in (*self._settled.groups, *self._seen.groups):
            self.touch(group.key)
        self.pace.room()

    def _quota_changed(self) -> None:
        if "quotas" in self._settings.reads:
            self.pace.room()

    def _priorities_changed(self, priority: Obj) -> None:
        self._seen = Settled()
        self.pace.room()

    # ---- cycles

    def _cycle(self) -> None:
        plan = self._decide(self._settings)
        if plan is not None:
            self._act.carry_out(plan)
            self._shuffled |= dict.fromkeys(plan.shuffles, self._clock.now().timestamp())
            self._hungry = any(_waits(report.group) for report in plan.reports)
            self._settle(plan)

    def _settle(self, plan: GangPlan) -> None:
        """Sets aside the groups for which nothing is left to decide or to report."""
        if self._settings.removes:
            return  # they may have to make way for others
        for report in plan.reports:
            group = report.group
            whole = len(group.tasks) == self._members.count(group.key)
            if whole and is_at_rest(group):
                self._active.pop(group.key, None)
                self._settled.keep(group, report.status)

    def _gate(self) -> None:
        """Admits groups that have no pods yet, and reports on no others."""
        if ENQUEUE not in self._settings.actions:
            self.pace.room()
            return
        plan = self._decide(self._gate_settings, gate=True)
        if plan is not None:
            self._act.tell(plan)
            self._hungry = self._hungry or any(_waits(report.group) for report in plan.reports)
            self._settle(plan)

    def _decide(self, settings: Settings, *, gate: bool = False) -> GangPlan | None:
        try:
            return decide(self._observe(settings, gate=gate))
        except Exception:  # a bug in one cycle; the next one may succeed
            log.exception("a cycle of the gang scheduler failed")
            self.pace.tell()
            return None

    def _observe(self, settings: Settings, *, gate: bool) -> Cycle:
        for key in self._members.unblock(self._clock.monotonic()):
            self.touch(key)
        there = {key: group for key in self._active if (group := self._groups.get(*key)) is not None}
        self._active = dict.fromkeys(there)
        changed = [key for key in there if key not in self._seen]
        pods = {key: self._members.of(key) for key in changed}
        monotonic = self._clock.monotonic()
        ages = {key: self._members.age(key, monotonic) for key in changed}
        found = observe.groups(
            [there[key] for key in changed],
            self._act.statuses.latest,
            pods,
            self._ledger,
            self._priorities,
            ages,
            sla=self._settings.plugin("sla"),
        )
        sums = self._settled.sums
        rules = rules_of(settings)
        if gate:  # which leaves groups with pods unchanged
            for each in found:
                if each.members and not _at_gate(each.status.get("phase") or ""):
                    self._seen.keep(Group(each, rules), each.status)
            found = [each for each in found if key_of(each.obj) not in self._seen]
            sums = together(sums, self._seen.sums)
        else:
            found += [
                group.seen._replace(age=self._members.age(group.key, monotonic))
                for group in self._seen.groups
            ]
            self._seen = Settled()
        wall = self._clock.now()
        quotas = "quotas" in self._settings.reads
        return Cycle(
            self._cluster.view(),
            tuple(found),
            tuple(self._queues),
            settings,
            identifiers.uid_from_bits(self._cluster.context.rng.getrandbits(identifiers.UID_BITS)),
            wall.timestamp(),
            rfc3339.from_moment(wall),
            sums,
            tuple(self._hyper_nodes),
            tuple(self._quotas) if quotas else (),
            self._awaited(found) if quotas else (),
            dict(self._shuffled),
            self._figures.loads(),
            gate,
        )

    def _awaited(self, found: list[SeenGroup]) -> tuple[Obj, ...]:
        """Groups that were admitted and have no pods yet."""
        settled = [group for group in self._settled.groups if group.phase == "Inqueue" and not group.tasks]
        waiting = [each.obj for each in found if not each.members and each.status.get("phase") == "Inqueue"]
        return tuple(group.obj for group in settled) + tuple(waiting)

    # ---- what acting asks, and tells

    def unbound(self, pod: Pod) -> None:
        """For a moment, excludes a pod whose binding failed."""
        self._members.block(pod, self._clock.monotonic() + _FAILURE_PAUSE_SECONDS)
        key = group_of(pod.obj)
        if key is not None:
            self.touch(key)
        self.pace.room(_FAILURE_PAUSE_SECONDS + PAUSE_SECONDS)

    def unwritten(self, key: Key) -> None:
        """Marks a group as changed, because its status could not be written."""
        self.touch(key)
        self.pace.tell()

    def is_waiting(self, uid: str) -> bool:
        """Whether a pod has no node and none is assumed for it."""
        pod = self._members.get(uid)
        return pod is not None and not pod.obj["spec"].get("nodeName") and uid not in self._ledger.pods

    def waiting_count(self) -> int:
        return self._members.waiting_count()

    # ---- what people ask

    def explain_group(self, namespace: str, name: str) -> list[Explanation]:
        """The last cycles' decisions about a gang, oldest first."""
        return [*self._act.explanations.of(namespace, name)]

    def explain(self, namespace: str, name: str) -> list[Explanation]:
        """The decisions about a pod's gang."""
        obj = self._cluster.pods.get(namespace, name)
        key = None if obj is None else group_of(obj)
        if obj is None or key is None:
            return []
        uid, gang = obj["metadata"]["uid"], Reason("InGang", {"group": key[1]})
        return [
            Explanation(uid, told.at, (gang, *told.why), told.problem, told.times)
            for told in self._act.explanations.of(*key)
        ]

    # ---- groups

    def group_seen(self, group: Obj) -> None:
        if not self._settled.is_like(group):
            self.touch(key_of(group))
        self._act.statuses.seen(group)

    def group_gone(self, group: Obj) -> None:
        self.touch(key_of(group))
        self._act.forget_group(group["metadata"]["uid"])


class _Groups(Handler):
    def __init__(self, scheduler: GangScheduler) -> None:
        self._scheduler = scheduler

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._scheduler.group_seen(obj)
        if self._scheduler.complete(key_of(obj)):
            self._scheduler.pace.arrived()
        else:
            self._scheduler.pace.announced()

    def on_update(self, old: Obj, new: Obj) -> None:
        self._scheduler.group_seen(new)
        if old.get("spec") != new.get("spec"):
            self._scheduler.pace.room()
        elif old.get("status") != new.get("status"):
            self._scheduler.pace.tell()

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._scheduler.group_gone(obj)
        self._scheduler.pace.room()


class _Queues(Handler):
    """Requests cycles for changes of queues. Counters change with every gang and cause none."""

    def __init__(self, scheduler: GangScheduler) -> None:
        self._scheduler = scheduler

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._scheduler.pace.room()

    def on_update(self, old: Obj, new: Obj) -> None:
        before, after = old.get("status") or {}, new.get("status") or {}
        if before.get("state") != after.get("state") or old.get("spec") != new.get("spec"):
            self._scheduler.pace.room()
        elif before.get("allocated") != after.get("allocated"):
            self._scheduler.pace.tell()  # if one write has overtaken another


def _waits(group: Group) -> bool:
    """Whether more room may help the group."""
    return _at_gate(group.phase) or bool(group.counts.get(PENDING) or group.counts.get(PIPELINED))


def _at_gate(phase: str) -> bool:
    return phase in ("", "Pending")
