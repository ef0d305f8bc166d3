"""The stories of claims and volumes: which volume and why, what is waited for, what holds one that goes."""

from __future__ import annotations

from longshore.machinery.records import PROBLEM, Record
from longshore.why.deletion import deleted
from longshore.why.story import Line, View, merged, of_event, of_record, once


def lines(view: View) -> list[Line]:
    found = [line for record in view.own if (line := _line(view, record)) is not None]
    return once(found) if found else merged(of_event(event) for event in view.events)


def _line(view: View, record: Record) -> Line | None:
    if record.code in ("Protected", "Bound", "Available"):
        return None  # the state is told under `now`
    if gone := deleted(record, view.kind.title):
        return gone
    if record.code == PROBLEM:
        return of_record(record, f"could not go on: {record.words}")
    return of_record(record)


def now(view: View) -> list[str]:
    if view.obj is None:
        return []
    phase = view.status.get("phase") or "Pending"
    if "deletionTimestamp" in view.meta:
        held = ", ".join(view.meta.get("finalizers") or ())
        return [f"it is being deleted, held by {held}" if held else "it is being deleted"]
    if view.kind.word == "pv":
        ref = view.spec.get("claimRef") or {}
        whose = f", by claim {ref.get('namespace')}/{ref.get('name')}" if ref else ""
        return [f"the volume is {phase}{whose}"]
    volume = view.spec.get("volumeName")
    return [f"the claim is {phase}" + (f", to volume {volume}" if volume else "")]


def following(view: View) -> list[str]:
    if view.obj is None:
        return [f"nothing: the {view.kind.title} is gone"]
    if view.kind.word == "pv":
        policy = view.spec.get("persistentVolumeReclaimPolicy") or "Retain"
        if view.status.get("phase") == "Released":
            return [
                f"nothing: its reclaim policy is {policy}. Delete it with: longshore delete pv/{view.name}"
            ]
        return [f"when its claim goes, its reclaim policy decides: {policy}"]
    last = view.own[-1].code if view.own else ""
    if "deletionTimestamp" in view.meta:
        users = [pod["metadata"]["name"] for pod in view.pods]
        by = f": {', '.join(users[:5])}" if users else ""
        return [f"it goes when no pod uses it any more{by}"]
    if view.status.get("phase") == "Bound":
        return ["nothing: pods can use it"]
    if last == "WaitForFirstConsumer":
        return ["it is bound when a pod that uses it has a node"]
    return ["it is tried again when a volume or a storage class changes. See: longshore get pv,storageclass"]
