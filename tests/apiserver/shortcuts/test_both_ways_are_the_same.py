"""Shortcuts answer the same bytes as the long way: random requests to two servers, one of which has none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.shortcuts.two_ways import NS, Request, played
from longshore.api.facts import queue_gate
from longshore.api.types import Obj
from longshore.apiserver.request.negotiate import PROTOBUF

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
NOON, LATER = "2026-11-15T12:00:00Z", "2026-11-15T12:00:09Z"
UID = "5d3e0c1a-4d2a-4b7c-9c1d-0242ac120002"
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": UID, "controller": True}
NAMES = ("a", "b", "c", "d", "e")


def _some(parts: dict[str, Any], often: int = 4) -> st.SearchStrategy[Obj]:
    """An object with a few of these parts, mostly none of them."""
    choice = st.sampled_from(sorted(parts))
    few = st.lists(choice, max_size=2, unique=True)
    return st.one_of(*[st.just([])] * often, few).map(lambda keys: {key: parts[key] for key in keys})


ANNOTATIONS: Obj = {
    "note": "a",
    "batch.kubernetes.io/job-completion-index": "3",
    "controller.kubernetes.io/pod-deletion-cost": "5",
    "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
    "container.apparmor.security.beta.kubernetes.io/main": "nonsense",
    "scheduler.alpha.kubernetes.io/critical-pod": "",
    "pod.beta.kubernetes.io/init-containers": "[]",
    "volcano.sh/jdb-min-available": "-1",
    "volcano.sh/task-spec": "w",
}
METADATA_PARTS: Obj = {
    "labels": {"x": "y"},
    "finalizers": ["example.com/a", "example.com/b"],
    "ownerReferences": [OWNER],
    "namespace": NS,
    "creationTimestamp": None,
    "resourceVersion": "7",
    "uid": "mine",
    "colour": "red",
}
TEXTS: tuple[Obj, ...] = (
    {}, {"command": ["a"]}, {"command": ["b", "c"]}, {"command": []}, {"args": ["ä"]}, {"args": [1]},
    {"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "2"}]},
    {"env": [{"name": "A", "value": ""}]},
    {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
)  # fmt: skip
TERM = {"topologyKey": "k", "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["x"]}
POD_PARTS: Obj = {
    "hostname": "h",
    "nodeName": "n",
    "nodeSelector": {"a": "b"},
    "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
    "topologySpreadConstraints": [{**TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
    "schedulingGates": [{"name": "example.com/g"}],
    "priorityClassName": "high",
    "priority": 9,
    "preemptionPolicy": "Never",
    "runtimeClassName": "process",
    "overhead": {"cpu": "1"},
    "schedulerName": "volcano",
    "volumes": [{"name": "v", "emptyDir": {}}],
    "ephemeralContainers": [{"name": "e", "image": "i"}],
    "hostnameOverride": "over",
    "setHostnameAsFQDN": True,
    "hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}],
    "terminationGracePeriodSeconds": -1,
    "restartPolicy": "Sometimes",
    "colour": "red",
}


def ephemeral(size: str) -> Obj:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]}


@st.composite
def metadata(draw: st.DrawFn) -> Obj:
    names: list[Obj] = [{"name": name} for name in NAMES]
    odd: list[Obj] = [{"generateName": "g-"}, {"name": "f.g"}, {"name": "A"}, {"name": "n" * 62}, {}]
    meta = dict(draw(st.sampled_from(names + odd)))
    meta |= draw(_some(METADATA_PARTS))
    if found := draw(_some(ANNOTATIONS)):
        meta["annotations"] = found
    return meta


@st.composite
def pod_specs(draw: st.DrawFn) -> Obj:
    container = {"name": "main", "image": "busybox", **draw(st.sampled_from(TEXTS))}
    spec = {"restartPolicy": "Never", "containers": [container], **draw(_some(POD_PARTS))}
    if draw(st.integers(0, 9)) == 0:
        spec |= ephemeral("1Gi")
    if draw(st.integers(0, 9)) == 0:
        container["resources"] = {"limits": {"cpu": 1}}
    return spec


JOB_PARTS: Obj = {
    "completions": 20,
    "parallelism": 3,
    "completionMode": "Indexed",
    "suspend": True,
    "manualSelector": True,
    "selector": {"matchLabels": {"app": "x"}},
    "backoffLimit": -1,
    "ttlSecondsAfterFinished": 5,
}
LABELS: tuple[Any, ...] = (None, {"app": "x"}, {"job-name": "a"}, {"app": "x y"})


@st.composite
def job_specs(draw: st.DrawFn) -> Obj:
    template: Obj = {"spec": draw(pod_specs())}
    labels = draw(st.sampled_from(LABELS))
    if labels is not None:
        template["metadata"] = {"labels": labels}
    return {"template": template, **draw(_some(JOB_PARTS))}


@st.composite
def gang_specs(draw: st.DrawFn) -> Obj:
    tasks = [{"name": draw(st.sampled_from(("w", ""))), "replicas": draw(st.sampled_from((1, 2)))}]
    tasks[0]["template"] = {"spec": draw(pod_specs())}
    parts = {
        "queue": "other",
        "minAvailable": 9,
        "plugins": {"svc": []},
        "colour": "red",
        "priorityClassName": "p",
    }
    return {"tasks": tasks, **draw(_some(parts))}


@st.composite
def events(draw: st.DrawFn) -> Obj:
    about = {"kind": "Job", "namespace": NS, "name": "j", "uid": "u", "apiVersion": "batch/v1"}
    event: Obj = {
        "metadata": {"name": draw(st.sampled_from(NAMES)), "namespace": NS},
        "involvedObject": about,
        "reason": "Because",
        "message": draw(st.sampled_from(("m", "ä < b", ""))),
        "source": {"component": "c"},
        "firstTimestamp": NOON,
        "lastTimestamp": draw(st.sampled_from((LATER, "soon", "2026-11-15T13:00:00+01:00"))),
        "count": draw(st.sampled_from((1, 2, 0))),
        "type": "Normal",
        "reportingComponent": "c",
    }
    odd = {"involvedObject": {**about, "namespace": "other"}, "source": {}, "colour": "red", "action": "a"}
    return event | draw(_some(odd))


POD_STATUSES: tuple[Any, ...] = (
    {"phase": "Running"},
    {"phase": "Succeeded", "podIP": "10.0.0.1"},
    {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": NOON}]},
    {"phase": "Running", "conditions": [{"type": "!", "status": "True"}]},
    {"podIPs": [{"ip": "10.0.0.2"}]},
    {"phase": 7},
    {"colour": "red"},
    {},
    None,
)
JOB_STATUSES: tuple[Any, ...] = (
    {"active": 1, "startTime": NOON, "ready": 0},
    {"startTime": NOON, "succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["u"]}},
    {"startTime": NOON, "conditions": [{"type": "Complete", "status": "True"}]},
    {"active": -1},
    {"active": "one"},
    {},
)
GANG_STATUSES: tuple[Any, ...] = (
    {"state": {"phase": "Running"}, "running": 1},
    {"state": {"phase": "Completed"}, "colour": "red"},
    {"running": "one"},
    {},
    None,
)
GROUP_STATUSES: tuple[Any, ...] = (
    {"phase": "Inqueue"},
    {"phase": "Running", "running": 1, "conditions": [{"type": "Scheduled", "status": "True"}]},
    {"phase": "Completed", "running": None, "succeeded": 2**40, "conditions": None},
    {"phase": "Completed", "colour": "red"},
    {"phase": 7},
    {"running": True, "conditions": [{"type": "Scheduled", "lastTransitionTime": "soon"}]},
    {},
    None,
)
STATUSES = {
    "pod": POD_STATUSES,
    "job": JOB_STATUSES,
    "gang": GANG_STATUSES,
    "group": GROUP_STATUSES,
}
STORED = st.sampled_from(("pod", "job", "gang", "group", "event"))
SPECS: dict[str, st.SearchStrategy[Obj]] = {
    "pod": pod_specs(),
    "job": job_specs(),
    "gang": gang_specs(),
    "group": _some({"minMember": 2, "queue": "other", "minResources": {"cpu": "1"}, "colour": 1}, often=2),
}


QUERIES = (("fieldValidation", "Strict"), ("fieldValidation", "Ignore"), ("dryRun", "All"))


@st.composite
def creates(draw: st.DrawFn, kind: str, names: tuple[str, ...] = NAMES[:3]) -> list[Request]:
    """Several objects of one kind. They have one spec, unless chance makes one of them odd."""
    if kind == "event":
        bodies = [draw(events()) for _ in names]
    else:
        spec = draw(SPECS[kind])
        bodies = [{"metadata": {"name": name, **draw(_some(METADATA_PARTS))}, "spec": spec} for name in names]
        if draw(st.booleans()):
            odd = {"metadata": draw(metadata()), "spec": draw(st.sampled_from((spec, draw(SPECS[kind]))))}
            bodies.insert(draw(st.integers(0, len(bodies))), odd)
    found = []
    for body in bodies:
        query: tuple[tuple[str, str], ...] = (("fieldManager", "tester"),)
        if draw(st.integers(0, 9)) == 9:
            query += (draw(st.sampled_from(QUERIES)),)
        wire = draw(st.booleans())
        protobuf = wire and kind in ("pod", "job") and draw(st.booleans())
        form = PROTOBUF if protobuf else "application/json"
        found.append(Request("create", kind, body, type=form, wire=wire, query=query))
        if draw(st.integers(0, 9)) == 9:
            found.append(draw(st.sampled_from(SURROUNDINGS)))
    return found


@st.composite
def changes(draw: st.DrawFn, kind: str) -> Request:
    """A change of one of the objects of a kind."""
    name, wire = draw(st.sampled_from(NAMES[:3])), draw(st.booleans())
    status = draw(st.sampled_from(STATUSES[kind]))
    how = draw(st.sampled_from(HOW))
    if how == "put":
        body: Obj = {"status": status}
        if meta := draw(_some(PUT_METADATA)):
            body["metadata"] = meta
        return Request("update", kind, body, name, "status", wire=wire)
    if how in ("merge", "strategic"):
        body = {"status": status} | draw(_some({"metadata": {"uid": "other"}, "spec": {}}))
        where = draw(
            st.sampled_from(("status", "status", "status", "") if kind != "group" else ("", "status"))
        )
        return Request("patch", kind, body, name, where, MERGE if how == "merge" else STRATEGIC, wire=wire)
    if how == "strip":
        body = {"metadata": {"$deleteFromPrimitiveList/finalizers": draw(st.sampled_from(STRIPPED))}}
        return Request("patch", kind, body, name, "", STRATEGIC, wire=wire)
    if how == "labels":
        return Request(
            "patch", kind, {"metadata": draw(st.sampled_from(LABELLED))}, name, "", MERGE, wire=wire
        )
    if how == "spec":
        return Request("patch", kind, {"spec": {"activeDeadlineSeconds": 9}}, name, "", MERGE, wire=wire)
    return Request("delete", kind, name=name)


HOW = ("put", "strip", "merge", "strategic", "labels", "spec", "delete")
PUT_METADATA: Obj = {
    "labels": {"x": "z"},
    "resourceVersion": "1",
    "uid": "other",
    "annotations": {},
    "managedFields": [],
}
STRIPPED: tuple[Any, ...] = (["example.com/a"], ["example.com/a", "example.com/b"], ["x"], [1], [])
LABELLED: tuple[Obj, ...] = ({"labels": {"x": "w"}}, {"labels": None}, {"finalizers": None})
LIMITS = {"limits": [{"type": "Container", "defaultRequest": {"memory": "7Mi"}}]}
HARD = {"count/pods": "3", "count/events": "1"}
QUEUE_NOTE = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "other"}}}
SURROUNDINGS: tuple[Request, ...] = (
    Request("create", "limits", {"metadata": {"name": "l"}, "spec": LIMITS}),
    Request("delete", "limits", name="l"),
    Request("create", "priority", {"metadata": {"name": "high"}, "value": 9}),
    Request("create", "priority", {"metadata": {"name": "all"}, "value": 5, "globalDefault": True}),
    Request("delete", "priority", name="all"),
    Request("create", "quota", {"metadata": {"name": "q"}, "spec": {"hard": HARD}}),
    Request("patch", "queue", {"status": {"state": "Closed"}}, "default", "status", MERGE),
    Request("patch", "queue", {"status": {"state": "Open"}}, "default", "status", MERGE),
    Request("patch", "namespace", QUEUE_NOTE, NS, "", MERGE),
    Request("patch", "namespace", {"metadata": {"annotations": None}}, NS, "", MERGE),
)  # fmt: skip


@st.composite
def stories(draw: st.DrawFn) -> list[Request]:
    """Objects that are alike, then changes of them."""
    requests: list[Request] = []
    for kind in draw(st.lists(STORED, min_size=1, max_size=2, unique=True)):
        requests += draw(creates(kind))
        if kind != "event":
            requests += draw(st.lists(changes(kind), min_size=2, max_size=6))
    return requests


# ---- tests

pytestmark = pytest.mark.long


@given(stories())
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_shortcuts_answer_store_and_tell_the_same_bytes(story: list[Request]) -> None:
    for short, long in zip(played(story, shortcuts=True), played(story, shortcuts=False), strict=True):
        assert short == long


def test_pods_that_a_queue_gates_have_each_its_own_time() -> None:
    meta = {"annotations": {queue_gate.KEY: "true"}}
    spec = {"schedulerName": "volcano", "restartPolicy": "Never", "containers": [{"name": "m", "image": "i"}]}
    pods = [Request("create", "pod", {"metadata": {"name": n, **meta}, "spec": spec}) for n in "abcdef"]
    assert played(pods, shortcuts=True) == played(pods, shortcuts=False)
