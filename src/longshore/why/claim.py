"""The stories of claims and volumes: which volume and why, what a claim waits for, what delays a deletion."""

from __future__ import annotations

import re
from typing import Final

from longshore.why.deletion import line
from longshore.why.story import Line, StoryView, merged, of_event, once

_UNBOUND: Final = ("ExternalProvisioning", "FailedBinding", "ProvisioningFailed", "WaitForFirstConsumer")
_NO_CLASS: Final = re.compile(r'storageclass\.storage\.k8s\.io "([^"]+)" not found')
_EXTERNAL: Final = re.compile(r"provisioner '?\"?([^'\" ]+)")


def lines(view: StoryView) -> list[Line]:
    found = [each for record in view.own if (each := line(record, view.kind.title)) is not None]
    return once(found) if found else merged(of_event(event) for event in view.events)


def now(view: StoryView) -> list[str]:
    if view.obj is None:
        return []
    phase = view.status.get("phase") or "Pending"
    if view.kind.word == "pv":
        ref = view.spec.get("claimRef") or {}
        claim = f"{ref.get('namespace')}/{ref.get('name')}"
        whose = f", to claim {claim}" if phase == "Bound" else f"; claim {claim} had it" if ref else ""
        return [f"the volume is {phase}{whose}"]
    volume = view.spec.get("volumeName")
    return [f"the claim is {phase}" + (f", to volume {volume}" if volume else "")]


def following(view: StoryView) -> list[str]:
    if view.obj is None:
        return [f"nothing: the {view.kind.title} is gone"]
    if view.kind.word == "pv":
        policy = view.spec.get("persistentVolumeReclaimPolicy") or "Retain"
        if view.status.get("phase") == "Released":
            return [
                f"nothing: its reclaim policy is {policy}. Delete it with: longshore delete pv/{view.name}"
            ]
        ref = view.spec.get("claimRef") or {}
        if view.status.get("phase") == "Available":
            return ["it waits for a claim that it fits"]
        if view.status.get("phase") == "Failed":
            return [f"nothing: it could not be reclaimed. Delete it with: longshore delete pv/{view.name}"]
        about = [f"about its claim: longshore why pvc/{ref['name']} -n {ref['namespace']}"] if ref else []
        return [f"when its claim goes, its reclaim policy decides: {policy}", *about]
    if view.status.get("phase") == "Bound":
        return ["nothing: pods can use it"]
    return _unbound(view)


def _unbound(view: StoryView) -> list[str]:
    """The step that gives a claim its volume, by its last reason or event."""
    told = [(event["reason"], event.get("message") or "") for event in view.events]
    told += [(record.code, record.words) for record in view.own]
    code, words = next((each for each in reversed(told) if each[0] in _UNBOUND), ("", ""))
    if code == "WaitForFirstConsumer":
        if not view.pods:
            return ["it is bound when a pod that uses it has a node; no pod uses it yet"]
        name = view.pods[0]["metadata"]["name"]
        return [f"it is bound when pod {name} has a node. About the pod: longshore why pod/{name}"]
    if found := _NO_CLASS.search(words):
        see = "the storage classes that exist: longshore get storageclass"
        return [f"it is bound when storage class {found[1]} exists, or a volume of this class fits it", see]
    if found := _EXTERNAL.search(words):
        return [f"it is bound when {found[1]} has made a volume for it, which longshore does not do"]
    wants = f"{(view.spec.get('resources') or {}).get('requests', {}).get('storage', 'its size')} or more"
    modes = ", ".join(view.spec.get("accessModes") or ())
    return [
        f"it is bound when a volume fits it: {wants}, {modes}, storage class "
        f"{view.spec.get('storageClassName') or 'none'}. See: longshore get pv,storageclass"
    ]
