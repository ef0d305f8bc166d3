"""The loop of the gang scheduler: sees what changed, and observes, decides and acts when that may help.

When that is, `pacing.py` says; what is decided, `decide.py`; `act.py` carries it out. Writes nothing itself.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from longshore.api import uid as uids
from longshore.api.facts import kinds, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.explanations import Explanation
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.metrics import Registry
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.fitting import verdict
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.gang import model, observe, sharing, watching
from longshore.scheduler.gang.act import Actor
from longshore.scheduler.gang.decide import Cycle, Plan, decide
from longshore.scheduler.gang.model import PENDING, PIPELINED, Group
from longshore.scheduler.gang.pacing import AFTER, LATER, Pace
from longshore.scheduler.gang.settings import ENQUEUE, PREEMPT, RECLAIM, Settings
from longshore.scheduler.gang.settled import Settled, is_at_rest

NAME: Final = "volcano"
_FAILURE_PAUSE: Final = 1.0
_BOUND: Final = 0.1
"""After a binding was seen: nobody waits for it, but phases follow."""
_MANY: Final = 50
"""Changes of groups and their pods a second."""

log = logging.getLogger(__name__)


class GangScheduler:
    """A `cluster.Listener`; `run` once the cluster has synced."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        settings: Settings | None = None,
        name: str = NAME,
        registry: Registry | None = None,
    ) -> None:
        self._cluster, self._clock, self._ledger = cluster, cluster.clock, cluster.ledger
        self._settings = settings or Settings()
        self.pace = Pace(cluster.clock, cycle=self._cycle, gate=self._gate)
        self._pods: dict[str, Pod] = {}
        self._of: dict[Key, dict[str, Pod]] = {}
        self._blocked: dict[str, float] = {}
        """Pods whose binding failed, and until when they are left alone."""
        self._settled = Settled()
        self._active: dict[Key, None] = {}
        """Groups that the next cycle looks at: all but those that are settled."""
        self._seen = Settled()
        """Active groups with pods, as the gate saw them; good until something about them changes."""
        self._changes, self._counted, self._busy = 0, cluster.clock.monotonic(), False
        self._hungry = False
        """Whether the last cycle left anybody waiting for room."""
        self._groups = cluster.follow(kinds.POD_GROUPS, watching.Groups(self))
        self._queues = cluster.follow(kinds.QUEUES, watching.Queues(self))
        self._priorities = cluster.follow(kinds.PRIORITY_CLASSES, watching.Priorities(self))
        self._act = Actor(cluster, self, self._queues, name=name, registry=registry or Registry())

    async def run(self) -> None:
        """Schedules until cancelled."""
        self.pace.start()
        try:
            await self._act.run()
        finally:
            self.pace.stop()

    # ---- what the cluster tells

    def pod_changed(self, pod: Obj) -> None:
        uid, key = pod["metadata"]["uid"], model.group_of(pod)
        known = self._pods.get(uid)
        if known is not None and known.obj is not pod and _same(known.obj, pod):
            known.obj = pod
            return
        before = None if known is None else known.obj
        new = self._cluster.shapes.pod(pod)
        if known is not None:
            self._drop(known)
        self._pods[uid] = new
        if key is not None:
            self._of.setdefault(key, {})[uid] = new
            self.touch(key)
        if pod["spec"].get("nodeName"):
            self._act.reporter.placed(uid)
        self._hurry(before, pod, key)

    def _hurry(self, before: Obj | None, pod: Obj, key: Key | None) -> None:
        """How soon a change of a pod deserves a cycle."""
        if pod["spec"].get("nodeName"):
            if pod_state.has_ended(pod):
                self._freed()
            elif before is not None and not before["spec"].get("nodeName"):
                self.pace.tell(LATER if self.is_busy() else _BOUND)
            else:
                self.pace.tell()
        elif key is not None and self.complete(key):
            self.pace.arrived()
        else:
            self.pace.tell()

    def complete(self, key: Key) -> bool:
        """Whether a group is there with as many pods as it needs."""
        group = self._groups.get(*key)
        if group is None:
            return False
        return len(self._of.get(key, ())) >= max((group.get("spec") or {}).get("minMember") or 0, 1)

    def pod_gone(self, pod: Obj) -> None:
        known = self._pods.pop(pod["metadata"]["uid"], None)
        if known is not None:
            self._drop(known)
            self._act.reporter.forget(known.uid)
            self._blocked.pop(known.uid, None)
        self._freed()

    def woken(self, flags: int) -> None:
        if flags & verdict.VOLUMES:
            self._act.claims.changed()
        if not self._pods and not len(self._groups):
            return
        if flags & ~(verdict.PODS | verdict.ROOM):
            self.pace.room()
        elif flags & verdict.ROOM:
            self._freed()

    def _freed(self) -> None:
        """There is more room than before. Those who come later have a cycle of their own anyhow."""
        if self._hungry:
            self.pace.room()
        else:
            self.pace.tell()

    def _drop(self, pod: Pod) -> None:
        key = model.group_of(pod.obj)
        if key is not None and key in self._of:
            self.touch(key)
            self._of[key].pop(pod.uid, None)
            if not self._of[key]:
                del self._of[key]

    def touch(self, key: Key) -> None:
        """Something about a group changed: the next cycle looks at it."""
        self._changes += 1
        self._settled.drop(key)
        self._seen.drop(key)
        self._active[key] = None

    def _touch_group_of(self, pod: Pod) -> None:
        key = model.group_of(pod.obj)
        if key is not None:
            self.touch(key)

    def priorities_changed(self) -> None:
        self._seen = Settled()
        self.pace.room()

    # ---- cycles

    def _cycle(self) -> None:
        plan = self._decide(self._settings)
        if plan is not None:
            self._act.carry_out(plan)
            self._hungry = any(_waits(report.group) for report in plan.reports)
            self._settle(plan)

    def _settle(self, plan: Plan) -> None:
        """Puts aside the groups about which nothing is left to decide or to say."""
        if PREEMPT in self._settings.actions or RECLAIM in self._settings.actions:
            return  # they may have to make way for others
        for report in plan.reports:
            group = report.group
            whole = len(group.tasks) == len(self._of.get(group.key, ()))
            if whole and is_at_rest(group):
                self._active.pop(group.key, None)
                self._settled.keep(group, report.status)

    def _gate(self) -> None:
        """Lets groups in that have no pods yet, and says nothing of the others."""
        if ENQUEUE not in self._settings.actions:
            self.pace.room()
            return
        plan = self._decide(replace(self._settings, actions=(ENQUEUE,)), gate=True)
        if plan is not None:
            self._act.tell(plan)
            self._hungry = self._hungry or any(_waits(report.group) for report in plan.reports)
            self._settle(plan)

    def _decide(self, settings: Settings, *, gate: bool = False) -> Plan | None:
        try:
            return decide(self._observe(settings, gate=gate))
        except Exception:
            log.exception("a cycle of the gang scheduler failed")
            self.pace.tell()
            return None

    def _observe(self, settings: Settings, *, gate: bool) -> Cycle:
        now = self._clock.monotonic()
        for uid in [uid for uid, until in self._blocked.items() if until <= now]:
            del self._blocked[uid]
            if uid in self._pods:
                self._touch_group_of(self._pods[uid])
        there = {key: group for key in self._active if (group := self._groups.get(*key)) is not None}
        self._active = dict.fromkeys(there)
        changed = [key for key in there if key not in self._seen]
        pods = {
            key: [pod for pod in self._of.get(key, {}).values() if pod.uid not in self._blocked]
            for key in changed
        }
        found = observe.groups(
            [there[key] for key in changed],
            self._act.statuses.latest,
            pods,
            self._ledger,
            self._priorities,
            sla=self._settings.sla,
        )
        sums = self._settled.sums
        if gate:  # which leaves groups that have pods as they are
            for each in found:
                if each.tasks and not _at_gate(each):
                    self._seen.keep(each, each.status)
            found = [each for each in found if each.key not in self._seen]
            sums = sharing.together(sums, self._seen.sums)
        else:  # a whole cycle changes what it looks at
            found += self._seen.groups
            self._seen = Settled()
        wall = self._clock.now()
        return Cycle(
            self._cluster.view(),
            found,
            observe.queues(self._queues),
            settings,
            uids.from_bits(self._cluster.rng.getrandbits(uids.BITS)),
            wall.timestamp(),
            rfc3339.from_moment(wall),
            sums,
            gate,
        )

    # ---- what acting asks, and tells

    def unbound(self, pod: Pod) -> None:
        """A binding failed: the pod is left alone for a moment."""
        self._blocked[pod.uid] = self._clock.monotonic() + _FAILURE_PAUSE
        self._touch_group_of(pod)
        self.pace.room(_FAILURE_PAUSE + AFTER)

    def unwritten(self, key: Key) -> None:
        """A group is not what it was told to be."""
        self.touch(key)
        self.pace.tell()

    def is_waiting(self, uid: str) -> bool:
        """Whether a pod has no node yet, nor is about to have one."""
        pod = self._pods.get(uid)
        return pod is not None and not pod.obj["spec"].get("nodeName") and uid not in self._ledger.pods

    def waiting_count(self) -> int:
        return sum(not pod.obj["spec"].get("nodeName") for pod in self._pods.values())

    def is_busy(self) -> bool:
        """Whether gangs come and go by the dozen."""
        passed = self._clock.monotonic() - self._counted
        if passed >= LATER:
            self._busy = self._changes > _MANY * passed
            self._changes, self._counted = 0, self._clock.monotonic()
        return self._busy

    # ---- what people ask

    def explain_group(self, namespace: str, name: str) -> list[Explanation]:
        """What the last cycles decided about a gang, oldest first."""
        return [*self._act.explanations.of(namespace, name)]

    def explain(self, namespace: str, name: str) -> list[Explanation]:
        """What was decided about a pod's gang."""
        obj = self._cluster.pods.get(namespace, name)
        key = None if obj is None else model.group_of(obj)
        if obj is None or key is None:
            return []
        uid = obj["metadata"]["uid"]
        return [
            Explanation(uid, told.at, (f"belongs to podgroup/{key[1]}", *told.why), told.problem, told.times)
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


def _waits(group: Group) -> bool:
    """Whether more room may help it."""
    return _at_gate(group) or bool(group.counts.get(PENDING) or group.counts.get(PIPELINED))


def _at_gate(group: Group) -> bool:
    return group.phase in ("", "Pending")


def _same(old: Obj, new: Obj) -> bool:
    """Whether nothing changed that a cycle looks at."""
    return (
        old["spec"] == new["spec"]
        and (old.get("status") or {}).get("phase") == (new.get("status") or {}).get("phase")
        and ("deletionTimestamp" in old["metadata"]) == ("deletionTimestamp" in new["metadata"])
        and all(old["metadata"].get(part) == new["metadata"].get(part) for part in ("labels", "annotations"))
    )
