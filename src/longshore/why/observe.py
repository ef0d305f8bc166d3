"""Makes the view of an object from any API: its own, or one over the network. Reads only.

What belongs to an object is found as its controllers find it: pods by the owner, Jobs by the owner, events by
the object they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

from longshore.api import cron
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason
from longshore.machinery.records import Name, Record
from longshore.why import reason_events
from longshore.why.kinds import KINDS, Kind
from longshore.why.story import View


class Api(Protocol):
    """The reads that a view needs."""

    def get(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        """The object; None when there is none, or the server does not know the kind."""

    def list(self, kind: Kind, namespace: str) -> Sequence[Obj]:
        """The objects of a namespace; none when the server does not know the kind."""

    def events(self, namespace: str, kind: str, name: str) -> Sequence[Obj]:
        """The events about an object."""


Recall = Callable[[Collection[Name]], list[Record]]
"""The reasons that were kept for these objects, oldest first."""

_OWNERS_OF_PODS: Final = ("job", "vcjob")
_MAX_RESTARTED_PODS: Final = 8
"""Pods whose restarts are part of their Job's story."""
_OWNERS_OF_JOBS: Final = {"cronjob": "job", "cronvcjob": "vcjob", "jobflow": "vcjob"}


def observe(
    api: Api,
    kind: Kind,
    namespace: str,
    name: str,
    *,
    now: float,
    recall: Recall = lambda names: [],
    waits: Callable[[Kind, str, str], Sequence[Reason]] = lambda kind, namespace, name: (),
    zone: cron.Zone = cron.UTC,
) -> View:
    """The view of the object of this name. `recall` and `waits` know what only longshore itself knows."""
    obj = api.get(kind, namespace, name)
    events = [each for each in api.events(namespace or "default", kind.kind, name) if _is_about(each, kind)]
    records = _all(recall([(kind.word, namespace, name)]), events, kind)
    uid = obj["metadata"]["uid"] if obj is not None else records[-1].uid if records else ""
    events = [
        event for event in events if _uid(event) in (uid, "") and reason_events.record_of(event, kind) is None
    ]
    pods = _pods(api, kind, namespace, name, uid)
    told = recall(_told_pods(kind, namespace, records, pods) + _restarted_pods(kind, obj, pods, events))
    children = KINDS.get(_OWNERS_OF_JOBS.get(kind.word, ""))
    jobs = [each for each in api.list(children, namespace) if _owned(each, uid)] if children else []
    group, group_name = None, ""
    if kind.word == "vcjob" and uid:
        group_name = f"{name}-{uid}"
        group = api.get(KINDS["podgroup"], namespace, group_name)
    asked = (KINDS["podgroup"], namespace, group_name) if group_name else (kind, namespace, name)
    return View(
        kind,
        namespace,
        name,
        now,
        obj,
        records,
        events,
        pods,
        told,
        jobs,
        group,
        recall([("podgroup", namespace, group_name)]) if group_name else (),
        waits(*asked),
        zone,
    )


def _all(records: Sequence[Record], events: Sequence[Obj], kind: Kind) -> list[Record]:
    """The records, with those that controllers outside kept as events; oldest first."""
    kept = [record for event in events if (record := reason_events.record_of(event, kind)) is not None]
    return sorted([*records, *kept], key=lambda record: record.at)


def _is_about(event: Obj, kind: Kind) -> bool:
    """Whether it is about this kind, not one of the same name in another group; old events name no group."""
    version: str = (event.get("involvedObject") or {}).get("apiVersion") or ""
    return version in ("", kind.api_version) or version.rpartition("/")[0] == kind.group


def _uid(event: Obj) -> str:
    uid: str = (event.get("involvedObject") or {}).get("uid") or ""
    return uid


def _told_pods(kind: Kind, namespace: str, records: Sequence[Record], pods: Sequence[Obj]) -> list[Name]:
    """The pods whose reasons belong to the story: those that failed a Job, and those of a gang, whose names
    come back when it is restarted."""
    names = {str(record.numbers["pod"]) for record in records if "pod" in record.numbers}
    if kind.word == "vcjob":
        names |= {pod["metadata"]["name"] for pod in pods}
    return [("pod", namespace, name) for name in sorted(names)]


def _restarted_pods(kind: Kind, job: Obj | None, pods: Sequence[Obj], events: Sequence[Obj]) -> list[Name]:
    """The newest pods of a Job that starts their containers again instead of failing them: what happened in
    a pod that is deleted in the end is nowhere else."""
    if kind.word != "job" or job is None or job["spec"]["template"]["spec"].get("restartPolicy") == "Never":
        return []
    said = (event.get("message") or "" for event in events if event["reason"] == "SuccessfulCreate")
    names = dict.fromkeys(words.rpartition(" ")[2] for words in said)
    names |= dict.fromkeys(pod["metadata"]["name"] for pod in pods)
    return [("pod", job["metadata"]["namespace"], name) for name in [*names][-_MAX_RESTARTED_PODS:]]


def _pods(api: Api, kind: Kind, namespace: str, name: str, uid: str) -> list[Obj]:
    """The pods of a Job, or those that use a claim; oldest first."""
    if kind.word in _OWNERS_OF_PODS:
        found = [pod for pod in api.list(KINDS["pod"], namespace) if _owned(pod, uid)]
    elif kind.word == "pvc":
        found = [pod for pod in api.list(KINDS["pod"], namespace) if _uses(pod, name)]
    else:
        return []
    return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))


def _owned(obj: Obj, uid: str) -> bool:
    return any(ref.get("uid") == uid for ref in obj["metadata"].get("ownerReferences") or ())


def _uses(pod: Obj, claim: str) -> bool:
    volumes = pod["spec"].get("volumes") or ()
    return any((volume.get("persistentVolumeClaim") or {}).get("claimName") == claim for volume in volumes)
