"""Notes from events why a run waits and what it is warned about, each in one line.

An event counts only if its object is the run itself or belongs to it, by UID: events of an earlier object of
the same name are ignored. The reasons of a gang come from the scheduler's own explanation, with numbers, if
the server has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from longshore.api import types
from longshore.api.errors import StatusError
from longshore.api.facts import conditions, kinds
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.cli.running.place import Place
from longshore.cli.running.progress import FollowedRun
from longshore.cli.running.run_watches import events
from longshore.client import Unreachable

HINDRANCES: Final = frozenset(
    {
        "BackOff",
        "Failed",
        "FailedAttachVolume",
        "FailedCreate",
        "FailedCreatePodSandBox",
        "FailedMount",
        "FailedScheduling",
        "Unschedulable",
    }
)
"""Reasons of events that keep a pod from running. Other warnings do not keep a run waiting."""
_GANG_WAITS: Final = ("GangWaits", "GangInvalid", "QueueClosed")
_MAX_PODS_ASKED: Final = 100
"""Pods of a run whose owner is looked up; a run with more warnings than that needs no more of them."""
_NUMBERS: Final = re.compile(r"\(asks (.*)\)$")

Changed = Callable[[FollowedRun], None]


async def notices(place: Place, namespace: str, runs: list[FollowedRun], changed: Changed) -> None:
    """Notes why runs wait, and warnings about them, until cancelled."""
    ours = _Ours(place)
    async for event in events(place, kinds.EVENTS, namespace, fields="type=Warning"):
        if event.type not in ("ADDED", "MODIFIED"):
            continue
        about = event.object.get("involvedObject") or {}
        for run in runs:
            if run.namespace == namespace and run.end is None and await ours.is_about(run, about):
                _note(run, event.object)
                changed(run)


async def full_disks(place: Place, runs: list[FollowedRun], changed: Changed) -> None:
    """Notes that the disk of a node is full, until cancelled: no event says so, because it would be a new
    object. Without the right to read nodes nothing is noted."""
    try:
        async for event in events(place, kinds.NODES, ""):
            node = event.object
            if event.type not in ("ADDED", "MODIFIED") or not conditions.holds(node, "DiskPressure"):
                continue
            for run in runs:
                if run.end is None:
                    name = node["metadata"]["name"]
                    run.waits = f"the disk is full, on node {name}: it takes no new pods until there is room"
                    changed(run)
    except StatusError:
        return


async def of_gang(place: Place, run: FollowedRun, changed: Changed) -> None:
    """Notes why a Volcano Job's gang waits, until cancelled."""
    group = f"{run.name}-{run.uid}"
    fields = f"involvedObject.kind=PodGroup,involvedObject.name={group}"
    async for event in events(place, kinds.EVENTS, run.namespace, fields=fields):
        if event.type not in ("ADDED", "MODIFIED") or event.object.get("reason") != "Unschedulable":
            continue
        words = await _explained(place, run.namespace, group) or event.object.get("message", "")
        if run.end is None and not run.active:
            run.waits = words
            changed(run)


class _Ours:
    """Finds the owner of the pods that events are about. Each pod is read once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._known: dict[str, str] = {}
        """The UID of each pod's owner, by the pod's UID."""

    async def is_about(self, run: FollowedRun, about: Obj) -> bool:
        uid, name = about.get("uid", ""), about.get("name", "")
        if uid == run.uid or name == f"{run.name}-{run.uid}":  # its PodGroup carries its UID
            return True
        if about.get("kind") != "Pod" or not name.startswith(f"{run.name}-"):
            return False
        if uid not in self._known and len(self._known) < _MAX_PODS_ASKED:
            self._known[uid] = await self._owner(run.namespace, name, uid)
        return self._known.get(uid) == run.uid

    async def _owner(self, namespace: str, name: str, uid: str) -> str:
        """The UID of the pod's owner; empty for a pod that is gone, or has been replaced."""
        try:
            pod = await self._place.client.get(kinds.PODS, name, namespace)
        except (StatusError, Unreachable):
            return ""
        owner = controller_of(pod)
        return owner["uid"] if owner is not None and pod["metadata"]["uid"] == uid else ""


def _note(run: FollowedRun, event: Obj) -> None:
    reason, said = event.get("reason", ""), " ".join(event.get("message", "").split())
    if reason == "DeadlineExceeded":  # the line about the failure or the end says it
        return
    if reason not in HINDRANCES:
        run.warning = f"{reason}: {said}"
    elif reason == "FailedScheduling" and (numbers := _NUMBERS.search(said)):
        run.waits = f"needs {numbers[1]}"
    else:
        run.waits = f"{reason}: {said}"


async def _explained(place: Place, namespace: str, group: str) -> str:
    """The scheduler's explanation of a gang; empty if the server has none."""
    path = f"/apis/longshore.dev/v1/namespaces/{namespace}/explanations/podgroup.{group}"
    try:
        answer = await place.client.request("GET", path)
    except Unreachable:
        return ""
    story = types.decode(answer.body)["story"] if answer.code == 200 else ()
    told = [line["words"] for line in story if line.get("code") in _GANG_WAITS]
    return told[-1] if told else ""
