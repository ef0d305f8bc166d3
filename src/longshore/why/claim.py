"""The stories of claims and volumes: which volume and why, what is waited for, what holds one that goes."""

from __future__ import annotations

from longshore.machinery.records import PROBLEM, Record
from longshore.why.deletion import deleted
from longshore.why.story import Line, View, merged, of_event, of_record, once, problem


def lines(view: View) -> list[Line]:
    found = [line for record in view.own if (line := _line(view, record)) is not None]
    return once(found) if found else merged(of_event(event) for event in view.events)


def _line(view: View, record: Record) -> Line | None:
    if record.code in ("Protected", "Bound", "Available"):
        return None  # the state is told under `now`
    if gone := deleted(record, view.kind.title):
        return gone
    if record.code == PROBLEM:
        return of_record(record, f"could not go on: {problem(record.words)}")
    words = record.words
    for now_, then in (("is bound ", "bound "), ("gets ", "got "), ("finishes ", "finished ")):
        if words.startswith(now_):
            words = then + words.removeprefix(now_)
    return of_record(record, words)


def now(view: View) -> list[str]:
    if view.obj is None:
        return []
    phase = view.status.get("phase") or "Pending"
    if "deletionTimestamp" in view.meta:
        held = ", ".join(view.meta.get("finalizers") or ())
        return [f"it is being deleted, held by {held}" if held else "it is being deleted"]
    if view.kind.word == "pv":
        ref = view.spec.get("claimRef") or {}
        claim = f"{ref.get('namespace')}/{ref.get('name')}"
        whose = f", to claim {claim}" if phase == "Bound" else f"; claim {claim} had it" if ref else ""
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
    codes = {record.code for record in view.own}
    if "deletionTimestamp" in view.meta:
        users = [pod["metadata"]["name"] for pod in view.pods]
        by = f": {', '.join(users[:5])}" if users else ""
        return [f"it goes when no pod uses it any more{by}"]
    if view.status.get("phase") == "Bound":
        return ["nothing: pods can use it"]
    if "WaitForFirstConsumer" in codes:
        return ["it is bound when a pod that uses it has a node"]
    return ["it is tried again when a volume or a storage class changes. See: longshore get pv,storageclass"]
