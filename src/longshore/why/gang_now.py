"""Why a gang waits right now, and what ends the wait: from its reasons, queue, pods and nodes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Final

from longshore.api import pod_resources, quantity
from longshore.api.types import Obj
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Place
from longshore.machinery.reasons import Reason
from longshore.machinery.records import PROBLEM
from longshore.machinery.sentences import counted
from longshore.why import no_node, pod_now
from longshore.why.needs import AGAIN, Step, missing
from longshore.why.story import StoryView

_OF_QUOTAS: Final = ("count/", "limits.", "requests.")
"""Prefixes of names in `minResources` that nodes do not have: they are for quotas."""


def stuck(waits: Mapping[str, pod_now.Wait]) -> dict[str, pod_now.Wait]:
    """The pods that do not wait for the gang's scheduling: they have a node, or scheduling gates."""
    return {name: wait for name, wait in waits.items() if wait.placed or wait.gated}


def words(view: StoryView) -> list[str]:
    if reasons := [reason for reason in view.waits if catalogue.place(reason.code) is Place.WAITS]:
        return without_repeats(reasons)
    if kept := [record for record in view.group_records if catalogue.place(record.code) is Place.WAITS]:
        return [kept[-1].words]
    found = ((view.group or {}).get("status") or {}).get("conditions") or ()
    return [c["message"] for c in found if c.get("type") == "Unschedulable" and c.get("message")]


def without_repeats(reasons: Iterable[Reason]) -> list[str]:
    """The words of the reasons; Volcano's summary only if no other reason says the cause."""
    told = [reason.words for reason in reasons if reason.code != "Unschedulable"]
    return told or [reason.words for reason in reasons]


def step(view: StoryView, group: Obj | None) -> Step | None:
    """The step that ends the wait of a gang; None if it waits only for its turn and for free resources."""
    codes = {reason.code: reason for reason in view.waits}
    name = (view.spec.get("queue") or "default") if view.kind.word == "vcjob" else _queue_name(group)
    last = view.own[-1] if view.own else None
    if last is not None and last.code == PROBLEM and (lacks := missing(last.words)) is not None:
        return Step(f"{lacks.until}; {AGAIN}", lacks.see)
    if view.queue is None:
        return Step(f"queue {name} exists", ("the queues: longshore queue list",))
    if "QueueClosed" in codes or (view.queue.get("status") or {}).get("state") in ("Closed", "Closing"):
        return Step(f"queue {name} is open again: longshore queue operate -a open -n {name}")
    if view.waits and not view.nodes and not view.pods:
        return Step("a node joins", ("the nodes: longshore get nodes",))
    if said := _never(view, group, name):
        return Step(said)
    least, many = ((group or {}).get("spec") or {}).get("minMember", 0), len(view.pods)
    if "GangInvalid" in codes and many < least:
        return Step(
            f"it has {counted(least, 'pod')}, its minMember; there {'is' if many == 1 else 'are'} {many}"
        )
    found = pod_now.waits(view, view.pods).values()
    return next((wait.step for wait in found if wait.step is not None), None)


def _queue_name(group: Obj | None) -> str:
    name: str = ((group or {}).get("spec") or {}).get("queue") or "default"
    return name


def _never(view: StoryView, group: Obj | None, queue: str) -> str:
    """The demand of a gang that its queue or the nodes cannot meet even when empty; else empty."""
    tasks = (view.spec.get("tasks") or ()) if view.kind.word == "vcjob" else ()
    specs = [pod["spec"] for pod in view.pods] or [task["template"]["spec"] for task in tasks]
    for spec in specs:
        if said := no_node.too_large(pod_resources.pod_requests(spec), view.nodes):
            return f"a larger node joins or less is asked for: a pod asks {said}"
    least = ((group or {}).get("spec") or {}).get("minResources") or {}
    needs = {name: amount for name, amount in least.items() if not name.startswith(_OF_QUOTAS)}
    capability = ((view.queue or {}).get("spec") or {}).get("capability") or {}
    for resource, amount in sorted(needs.items()):
        if resource in capability and quantity.compare(amount, capability[resource]) > 0:
            told = f"the gang needs {no_node.shown(amount)} {resource}, queue {queue} may have"
            return (
                f"its queue may have more or less is asked for: {told} {no_node.shown(capability[resource])}"
            )
    for resource, amount in sorted(needs.items()):
        sizes = [
            ((node.get("status") or {}).get("allocatable") or {}).get(resource, "0") for node in view.nodes
        ]
        together = functools.reduce(quantity.add, sizes, "0")
        if view.nodes and quantity.compare(amount, together) > 0:
            told = f"the gang needs {no_node.shown(amount)} {resource}, all nodes together have"
            return f"more nodes join or less is asked for: {told} {no_node.shown(together)}"
    return ""
