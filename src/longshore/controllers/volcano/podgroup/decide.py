"""The plan for the PodGroup of a pod that brings none, or of a workload that changed. A pure function.

Some rules want to see more than the caches hold: `decide` names what it wants to read (`Ask`), and is called
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
"""The owners whose annotations count for their pods."""
_REVISION: Final = "controller-revision-hash"


class Ask(NamedTuple):
    """One object of the namespace, to be read."""

    kind: Kind
    name: str


class View(msgspec.Struct, frozen=True):
    """A pod, or a workload and its pods, as the caches show them. Objects are frozen."""

    pod: Obj | None = None
    """A pod of Volcano's scheduler; None for a look at a workload."""
    workload: Obj | None = None
    kind: str = ""
    """The workload's."""
    pods: Sequence[Obj] = ()
    """The workload's; of those that have a group only names are cached."""
    answers: Mapping[Ask, Obj | None] = msgspec.field(default_factory=dict)
    """The object that was read; None if it does not exist."""


class Plan(msgspec.Struct, frozen=True):
    """One with something to `read` is a step on the way. Writes in this order: the group, then the pod."""

    read: tuple[Ask, ...] = ()
    create: Obj | None = None
    """A group. One that is there already was made for another pod of the same owner."""
    update: Obj | None = None
    """A group that is there, as it is to be."""
    remove: str = ""
    """The name of a group that nobody needs."""
    tell: Obj | None = None
    """The pod on which the name of the group is written."""
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Never: only a change calls for another look."""


def decide(view: View) -> Plan:
    """The plan. Call again with the answers until there is nothing to read."""
    if view.pod is not None:
        return _of_pod(view, view.pod)
    assert view.workload is not None
    return _of_workload(view, view.workload)


def group_of(pod: Obj) -> str:
    """The name of the group the pod brings; empty when it brings none."""
    found: str = (pod["metadata"].get("annotations") or {}).get(GROUP, "")
    return found


def _of_pod(view: View, pod: Obj) -> Plan:
    if group_of(pod):
        return Plan()
    if unread := _unread(view, *_owner_asks(pod)):
        return Plan(read=unread)
    name = pod["metadata"]["name"]
    why = (
        Reason("GroupCreated", f"creates the group for pod {name}, which brings none"),
        Reason("PodTold", f"writes the name of the group on pod {name}"),
    )
    return Plan(create=wanted(pod, _owners(view, pod)), tell=pod, why=why)


def _of_workload(view: View, workload: Obj) -> Plan:
    """The group of a workload that is scaled to nothing goes; else it is written again from the first pod."""
    said = f"{view.kind} {workload['metadata']['name']}"
    if workload["spec"].get("replicas") == 0:
        why = Reason("ScaledToNothing", f"{said} is scaled to nothing: removes its group")
        return Plan(remove=name_for(workload), why=(why,))
    for ask in _pod_asks(view, workload):
        if ask not in view.answers:
            return Plan(read=(ask,))
        pod = view.answers[ask]
        if pod is not None:
            return _from_pod(view, pod, said)
    return Plan()


def _from_pod(view: View, pod: Obj, said: str) -> Plan:
    group = Ask(kinds.POD_GROUPS, name_of(pod))
    if unread := _unread(view, *_owner_asks(pod), group):
        return Plan(read=unread)
    new, old = wanted(pod, _owners(view, pod)), view.answers[group]
    because = f"the group of {said}, as its pod {pod['metadata']['name']} wants it"
    if old is None:
        return Plan(create=new, why=(Reason("GroupCreated", f"creates {because}"),))
    marks = {part: new["metadata"].get(part) or {} for part in ("labels", "annotations")}
    spec = {"queue": old["spec"].get("queue", ""), **new["spec"]}
    body = {**old, "metadata": {**old["metadata"], **marks}, "spec": spec}
    return Plan(update=body, why=(Reason("GroupUpdated", f"writes {because}"),))


def _pod_asks(view: View, workload: Obj) -> list[Ask]:
    """The workload's pods that count: a StatefulSet's are those of its newest revision."""
    pods = view.pods
    if view.kind == kinds.STATEFUL_SETS[1]:
        newest = (workload.get("status") or {}).get("updateRevision")
        pods = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(_REVISION) == newest]
    return [Ask(kinds.PODS, pod["metadata"]["name"]) for pod in pods]


def _owner_asks(pod: Obj) -> list[Ask]:
    refs = pod["metadata"].get("ownerReferences") or ()
    found = [Ask((ref["apiVersion"], ref["kind"]), ref["name"]) for ref in refs]
    return [ask for ask in found if ask.kind in _OWNERS]


def _owners(view: View, pod: Obj) -> list[Obj]:
    """The owners that are there."""
    return [owner for ask in _owner_asks(pod) if (owner := view.answers[ask]) is not None]


def _unread(view: View, *asks: Ask) -> tuple[Ask, ...]:
    return tuple(ask for ask in asks if ask not in view.answers)
