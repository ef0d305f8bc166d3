"""The plan for the PodGroup of a pod that has none, or of a workload that changed. A pure function.

Some rules need objects that are not cached: `decide` returns a plan with what to read (`Ask`), and is called
again with the answers in the view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from longshore.api.facts import kinds
from longshore.api.facts.kinds import Kind
from longshore.api.types import Obj
from longshore.controllers.volcano.podgroup.wanted import GROUP, name_for, name_of, wanted
from longshore.machinery.reasons import Reason

_OWNERS: Final = (kinds.REPLICA_SETS, kinds.DAEMON_SETS, kinds.STATEFUL_SETS, kinds.JOBS)
"""The kinds of owners whose annotations apply to their pods."""
_REVISION: Final = "controller-revision-hash"


class Ask(NamedTuple):
    """An object of the namespace to read."""

    kind: Kind
    name: str


class PodGroupView(msgspec.Struct, frozen=True):
    """A pod, or a workload and its pods, as the caches show them. Objects are frozen."""

    pod: Obj | None = None
    """A pod of Volcano's scheduler; None in a sync of a workload."""
    workload: Obj | None = None
    kind: str = ""
    """The kind of the workload."""
    pods: Sequence[Obj] = ()
    """The workload's pods; only the metadata of those that have a group is cached."""
    answers: Mapping[Ask, Obj | None] = msgspec.field(default_factory=dict)
    """The objects that were read; None if one does not exist."""


class PodGroupPlan(msgspec.Struct, frozen=True):
    """A plan that sets `read` is an intermediate step. Write order: the group, then the pod."""

    read: tuple[Ask, ...] = ()
    create: Obj | None = None
    """The group to create. If it exists, it was created for another pod of the same owner."""
    update: Obj | None = None
    """The existing group, with its changes."""
    remove: str = ""
    """The name of the group to delete."""
    tell: Obj | None = None
    """The pod to annotate with the name of the group."""
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Always None: only a change causes another sync."""


def decide(view: PodGroupView) -> PodGroupPlan:
    """Returns the plan. Call it again with the answers until there is nothing to read."""
    if view.pod is not None:
        return _of_pod(view, view.pod)
    assert view.workload is not None
    return _of_workload(view, view.workload)


def group_of(pod: Obj) -> str:
    """Returns the name of the group in the pod's annotation; empty if there is none."""
    found: str = (pod["metadata"].get("annotations") or {}).get(GROUP, "")
    return found


def _of_pod(view: PodGroupView, pod: Obj) -> PodGroupPlan:
    if group_of(pod):
        return PodGroupPlan()
    if unread := _unread(view, *_owner_asks(pod)):
        return PodGroupPlan(read=unread)
    name = pod["metadata"]["name"]
    why = Reason("GroupCreated", {"pod": name}), Reason("PodTold", {"pod": name})
    return PodGroupPlan(create=wanted(pod, _owners(view, pod)), tell=pod, why=why)


def _of_workload(view: PodGroupView, workload: Obj) -> PodGroupPlan:
    """Deletes the group of a workload that is scaled to zero; otherwise updates it from the first pod."""
    said = f"{view.kind} {workload['metadata']['name']}"
    if workload["spec"].get("replicas") == 0:
        why = Reason("ScaledToNothing", {"workload": said})
        return PodGroupPlan(remove=name_for(workload), why=(why,))
    for ask in _pod_asks(view, workload):
        if ask not in view.answers:
            return PodGroupPlan(read=(ask,))
        pod = view.answers[ask]
        if pod is not None:
            return _from_pod(view, pod, said)
    return PodGroupPlan()


def _from_pod(view: PodGroupView, pod: Obj, said: str) -> PodGroupPlan:
    group = Ask(kinds.POD_GROUPS, name_of(pod))
    if unread := _unread(view, *_owner_asks(pod), group):
        return PodGroupPlan(read=unread)
    new, old = wanted(pod, _owners(view, pod)), view.answers[group]
    numbers = {"workload": said, "pod": pod["metadata"]["name"]}
    if old is None:
        return PodGroupPlan(create=new, why=(Reason("GroupCreated", numbers),))
    marks = {part: new["metadata"].get(part) or {} for part in ("labels", "annotations")}
    spec = {"queue": old["spec"].get("queue", ""), **new["spec"]}
    body = {**old, "metadata": {**old["metadata"], **marks}, "spec": spec}
    return PodGroupPlan(update=body, why=(Reason("GroupUpdated", numbers),))


def _pod_asks(view: PodGroupView, workload: Obj) -> list[Ask]:
    """Returns requests to read the workload's pods; of a StatefulSet, those of its newest revision."""
    pods = view.pods
    if view.kind == kinds.STATEFUL_SETS[1]:
        newest = (workload.get("status") or {}).get("updateRevision")
        pods = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(_REVISION) == newest]
    return [Ask(kinds.PODS, pod["metadata"]["name"]) for pod in pods]


def _owner_asks(pod: Obj) -> list[Ask]:
    refs = pod["metadata"].get("ownerReferences") or ()
    found = [Ask((ref["apiVersion"], ref["kind"]), ref["name"]) for ref in refs]
    return [ask for ask in found if ask.kind in _OWNERS]


def _owners(view: PodGroupView, pod: Obj) -> list[Obj]:
    """Returns the owners that exist."""
    return [owner for ask in _owner_asks(pod) if (owner := view.answers[ask]) is not None]


def _unread(view: PodGroupView, *asks: Ask) -> tuple[Ask, ...]:
    return tuple(ask for ask in asks if ask not in view.answers)
