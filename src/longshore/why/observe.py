"""Makes the view of an object from any API, in this process or over the network. Reads only.

The objects that belong to it are found as its controllers find them: pods and Jobs by their owner, events by
the object that they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

from longshore.api import cron
from longshore.api.facts import job_state, volcano_job_state
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason
from longshore.machinery.records import Name, Record
from longshore.why import no_node, pod_now, reason_events
from longshore.why.kinds import KINDS, NODE, Kind
from longshore.why.story import StoryView


class Api(Protocol):
    """The reads that a view needs."""

    def get(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        """The object; None if it does not exist, or the server does not know the kind."""

    def list(self, kind: Kind, namespace: str) -> Sequence[Obj]:
        """The objects of a namespace, or of the cluster if `namespace` is empty; none if the server does not
        know the kind, or the reader may not list it in the whole cluster."""

    def events(self, namespace: str, kind: str, name: str) -> Sequence[Obj]:
        """The events about an object."""


Recall = Callable[[Collection[Name]], list[Record]]
"""Returns the recorded reasons of these objects, oldest first."""

_OWNERS_OF_PODS: Final = ("job", "vcjob")
_MAX_RESTARTED_PODS: Final = 8
"""Most pods whose restarts become part of their Job's story."""
_MAX_SILENT_PODS: Final = 3
"""Most unstarted pods whose events are read for the story of their Job."""
_MAX_FAILED_RUNS: Final = 5
"""Most failed Jobs of a CronJob that are shown with their exit codes."""
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
) -> StoryView:
    """The view of the object of this name. `recall` and `waits` return what only longshore itself knows."""
    obj = api.get(kind, namespace, name)
    events = [each for each in api.events(namespace or "default", kind.kind, name) if _is_about(each, kind)]
    records = _all(recall([(kind.word, namespace, name)]), events, kind)
    uid = obj["metadata"]["uid"] if obj is not None else records[-1].uid if records else ""
    events = [
        event for event in events if _uid(event) in (uid, "") and reason_events.record_of(event, kind) is None
    ]
    pods = _pods(api, kind, namespace, name, uid)
    told = recall(_pods_in_story(kind, namespace, records, pods) + _restarted_pods(kind, obj, pods, events))
    children = KINDS.get(_OWNERS_OF_JOBS.get(kind.word, ""))
    jobs = [each for each in api.list(children, namespace) if _owned(each, uid)] if children else []
    group, group_name = None, ""
    if kind.word == "vcjob" and uid:
        group_name = f"{name}-{uid}"
        group = api.get(KINDS["podgroup"], namespace, group_name)
    asked = (KINDS["podgroup"], namespace, group_name) if group_name else (kind, namespace, name)
    queue, gangs = _queue(api, kind, name, obj)
    subjects = [obj] if kind.word == "pod" and obj is not None else pods
    unplaced = pod_now.unplaced(subjects)
    seeks_nodes = unplaced or (queue is not None and not pods)
    return StoryView(
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
        _events_of_pods(api, namespace, pods),
        api.list(NODE, "") if seeks_nodes else (),
        api.list(KINDS["pvc"], namespace) if any(map(no_node.claim_names, unplaced)) else (),
        queue,
        gangs,
        {
            name: observe(api, children, namespace, name, now=now, recall=recall, zone=zone)
            for name in _failed(records, jobs)
            if children is not None
        },
        zone,
    )


def _events_of_pods(api: Api, namespace: str, pods: Sequence[Obj]) -> list[Obj]:
    """The events of the first pods that have not started; pods of one Job mostly have the same events."""
    silent = pod_now.unstarted(pods)[:_MAX_SILENT_PODS]
    return [event for pod in silent for event in api.events(namespace, "Pod", pod["metadata"]["name"])]


def _queue(api: Api, kind: Kind, name: str, obj: Obj | None) -> tuple[Obj | None, Sequence[Obj]]:
    """The queue of a gang, and the gangs of a queue."""
    if kind.word == "queue":
        found = api.list(KINDS["podgroup"], "")
        return None, [group for group in found if _queue_of(group) == name]
    if kind.word not in ("vcjob", "podgroup") or obj is None:
        return None, ()
    return api.get(KINDS["queue"], "", _queue_of(obj)), ()


def _queue_of(obj: Obj) -> str:
    name: str = (obj.get("spec") or {}).get("queue") or "default"
    return name


def _has_failed(job: Obj) -> bool:
    """Whether a Job, Kubernetes' or Volcano's, has failed."""
    if phase := volcano_job_state.phase_of(job):
        return phase == "Failed"
    return (job_state.end_of(job) or {}).get("type") == "Failed"


def _failed(records: Sequence[Record], jobs: Sequence[Obj]) -> list[str]:
    """Names of the newest failed Jobs of a CronJob or a JobFlow, including deleted ones."""
    names = [
        str(record.numbers["job"])
        for record in records
        if record.code == "JobEnded" and record.numbers.get("outcome") == "Failed"
    ]
    for job in sorted(jobs, key=lambda job: str(job["metadata"]["creationTimestamp"])):
        if _has_failed(job):
            names.append(job["metadata"]["name"])
    return list(dict.fromkeys(reversed(names)))[:_MAX_FAILED_RUNS]


def _all(records: Sequence[Record], events: Sequence[Obj], kind: Kind) -> list[Record]:
    """The records, together with those that outside controllers stored as events; oldest first."""
    kept = [record for event in events if (record := reason_events.record_of(event, kind)) is not None]
    return sorted([*records, *kept], key=lambda record: record.at)


def _is_about(event: Obj, kind: Kind) -> bool:
    """Whether the event is about this kind, and not one of the same name in another group. Old events lack a
    group."""
    version: str = (event.get("involvedObject") or {}).get("apiVersion") or ""
    return version in ("", kind.api_version) or version.rpartition("/")[0] == kind.group


def _uid(event: Obj) -> str:
    uid: str = (event.get("involvedObject") or {}).get("uid") or ""
    return uid


def _pods_in_story(kind: Kind, namespace: str, records: Sequence[Record], pods: Sequence[Obj]) -> list[Name]:
    """The pods whose reasons belong to the story: pods that failed a Job, and pods of a gang, which have the
    same names again after a restart."""
    names = {str(record.numbers["pod"]) for record in records if "pod" in record.numbers}
    if kind.word == "vcjob":
        names |= {pod["metadata"]["name"] for pod in pods}
    return [("pod", namespace, name) for name in sorted(names)]


def _restarted_pods(kind: Kind, job: Obj | None, pods: Sequence[Obj], events: Sequence[Obj]) -> list[Name]:
    """The newest pods of a Job whose containers are restarted instead of failing the pod: once such a pod is
    deleted, its restarts are recorded nowhere else."""
    if kind.word != "job" or job is None or job["spec"]["template"]["spec"].get("restartPolicy") == "Never":
        return []
    said = (event.get("message") or "" for event in events if event["reason"] == "SuccessfulCreate")
    names = dict.fromkeys(words.rpartition(" ")[2] for words in said)
    names |= dict.fromkeys(pod["metadata"]["name"] for pod in pods)
    return [("pod", job["metadata"]["namespace"], name) for name in [*names][-_MAX_RESTARTED_PODS:]]


def _pods(api: Api, kind: Kind, namespace: str, name: str, uid: str) -> list[Obj]:
    """The pods of a Job or a gang, or those that use a claim; oldest first."""
    if kind.word in _OWNERS_OF_PODS:
        found = [pod for pod in api.list(KINDS["pod"], namespace) if _owned(pod, uid)]
    elif kind.word == "podgroup":
        found = [pod for pod in api.list(KINDS["pod"], namespace) if _is_member(pod, name)]
    elif kind.word == "pvc":
        found = [pod for pod in api.list(KINDS["pod"], namespace) if _uses(pod, name)]
    else:
        return []
    return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))


def _is_member(pod: Obj, group: str) -> bool:
    return bool((pod["metadata"].get("annotations") or {}).get(pod_now.GROUP) == group)


def _owned(obj: Obj, uid: str) -> bool:
    return any(ref.get("uid") == uid for ref in obj["metadata"].get("ownerReferences") or ())


def _uses(pod: Obj, claim: str) -> bool:
    volumes = pod["spec"].get("volumes") or ()
    return any((volume.get("persistentVolumeClaim") or {}).get("claimName") == claim for volume in volumes)
