"""The pods that wait for the pod scheduler: new ones, and those to be tried again after a failure.

Equal pods share one group and one answer (`pending.py`). Decides nothing and writes nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

from longshore.api.facts import pod_state
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.fitting import pod_claims
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.single.pending import Pending

if TYPE_CHECKING:
    from longshore.scheduler.single.scheduler import DefaultScheduler

_PAUSES: Final = Doubling(1.0, 10.0)


class Waiting:
    def __init__(self, cluster: Cluster, pending: Pending, scheduler: DefaultScheduler) -> None:
        self._cluster, self._clock, self._ledger = cluster, cluster.clock, cluster.ledger
        self._pending, self._scheduler = pending, scheduler
        self._by_labels = False
        self._seen: dict[str, float] = {}
        """The monotonic time since which each pod waits."""
        self._failures: dict[str, int] = {}
        """How often in a row each pod could not be bound."""

    def __contains__(self, uid: str) -> bool:
        return uid in self._pending or (uid in self._failures and uid not in self._ledger.pods)

    # ---- pods come and go

    def pod_changed(self, pod: Obj) -> None:
        meta, spec = pod["metadata"], pod["spec"]
        uid = meta["uid"]
        if spec.get("nodeName") or "deletionTimestamp" in meta or pod_state.has_ended(pod):
            if uid in self._pending or uid in self._seen or uid in self._failures:
                self._dismiss(uid)
        elif spec.get("schedulingGates"):
            self._pending.take_out(uid)
        elif uid not in self._ledger.pods:
            self._queue(pod)

    def pod_gone(self, pod: Obj) -> None:
        uid = pod["metadata"]["uid"]
        self._dismiss(uid)
        self._seen.pop(uid, None)

    def _queue(self, obj: Obj) -> None:
        uid = obj["metadata"]["uid"]
        shape = self._cluster.shapes.of(obj)
        known = self._pending.get(uid)
        if known is not None:
            same = known.shape is shape and known.obj["metadata"].get("labels") == obj["metadata"].get(
                "labels"
            )
            known.obj = obj
            if same:
                return
            self._pending.take_out(uid, forget=False)
        elif uid in self._failures:
            return  # it is queued again after its pause
        pod = Pod(obj, shape)
        self._seen.setdefault(uid, self._clock.monotonic())
        self._add(pod)

    def _add(self, pod: Pod) -> None:
        group = self._pending.add(pod, self._key(pod))
        if group.parked:
            assert group.plan is not None
            self._scheduler.tell([pod], group.plan)
            group.untold.clear()
        else:
            self._scheduler.soon()

    def _dismiss(self, uid: str) -> None:
        if self._pending.take_out(uid) is not None or uid in self._failures:
            self._scheduler.gone(uid)
        self._ledger.withdraw(uid)  # also for a binding without answer, or with a late one
        self._failures.pop(uid, None)
        if uid not in self._ledger.pods:
            self._seen.pop(uid, None)

    def others_wait(self, pod: Pod) -> bool:
        """Whether other pods wait that get the same answer as this pod. The pod itself is not queued."""
        return self._pending.has_parked and self._pending.parks(self._key(pod))

    # ---- groups of equal pods

    def _key(self, pod: Pod) -> Hashable:
        """The key of a pod's group: pods with the same key get the same answer."""
        key: tuple[Hashable, ...] = (pod.shape, pod.priority)
        if claims := pod_claims.claims_of(pod.obj):
            key = (*key, pod.key[0], *claims)
        if self._by_labels:
            key = (*key, pod.key[0], frozenset(pod.labels.items()))
        return key

    @property
    def is_misgrouped(self) -> bool:
        """Whether the groups are outdated, because labels have begun or ceased to decide the placement."""
        return self._by_labels != bool(self._ledger.repelling)

    def regroup(self) -> None:
        """Puts all waiting pods into new groups."""
        self._by_labels = bool(self._ledger.repelling)
        for group in [*self._pending.groups]:
            for pod in [*group.pods.values()]:
                self._pending.take_out(pod.uid, forget=False)
                self._add(pod)

    # ---- how bindings went

    def bound(self, uid: str) -> float | None:
        """Forgets a bound pod. Returns how many seconds it waited, if known."""
        self._failures.pop(uid, None)
        seen = self._seen.pop(uid, None)
        return None if seen is None else self._clock.monotonic() - seen

    def failed(self, pod: Pod) -> None:
        """Queues a pod whose binding failed again, after a pause that doubles each time."""
        count = self._failures[pod.uid] = self._failures.get(pod.uid, 0) + 1
        self._clock.call_later(_PAUSES.after(count), lambda: self._come_back(pod))

    def _come_back(self, pod: Pod) -> None:
        latest = self._cluster.pods.get(*pod.key)
        if latest is None or latest["metadata"]["uid"] != pod.uid or pod.uid not in self._failures:
            return
        if pod.uid not in self._ledger.pods and not latest["spec"].get("nodeName"):
            self._add(self._cluster.shapes.pod(latest))
