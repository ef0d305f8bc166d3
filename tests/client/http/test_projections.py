"""A client decodes only the fields that are read of an object, and keeps its own pace."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from client.http.scripted_server import Script, made
from longshore.api.errors import StatusError
from longshore.client import What
from longshore.client.ask import known
from longshore.client.http.compact_objects import SharedParts
from longshore.client.projection import WHOLE, Projection
from longshore.plane.controllers import reads_of
from support.http_server import Asked, Reply

pytestmark = pytest.mark.anyio
PODS = ("v1", "Pod")
JOBS = ("batch/v1", "Job")
KINDS = (PODS, JOBS)
READS = reads_of(["job", "volcano-job", "volcano-podgroup"])
OF_PODS = READS[PODS]
POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "resourceVersion": "5",
        "managedFields": [{"manager": "m"}],
        "labels": {"a": "b"},
    },
    "spec": {
        "nodeName": "n",
        "volumes": [{"name": "v"}],
        "containers": [{"name": "c", "image": "i", "env": [{"name": "A"}], "resources": {"limits": {}}}],
    },
    "status": {"phase": "Running"},
}
PROJECTED = {
    "metadata": {"name": "p", "namespace": "ns", "resourceVersion": "5", "labels": {"a": "b"}},
    "spec": {"nodeName": "n", "containers": [{"resources": {"limits": {}}}]},
    "status": {"phase": "Running"},
}


async def test_pods_come_without_what_no_rule_reads(script: Script) -> None:
    line = json.dumps({"type": "ADDED", "object": POD}) + "\n"

    async def stream(request: Asked) -> Reply:
        return Reply((line).encode())

    script.answers = [made({"items": [POD], "metadata": {}}), stream, made(POD)]
    async with script.client(reads=READS) as client:
        assert [page.items async for page in client.pages(PODS, "ns", reads=OF_PODS)] == [[PROJECTED]]
        async with client.watch(PODS, "ns", reads=OF_PODS) as events:
            assert [event.object async for event in events] == [PROJECTED]
        assert await client.create(PODS, POD) == PROJECTED
        assert await client.patch(PODS, "p", {}, "ns") == PROJECTED
        assert await client.get(PODS, "p", "ns") == POD  # may be written back


async def test_pods_of_one_template_share_its_parts(script: Script) -> None:
    other = {**POD, "metadata": {**POD["metadata"], "name": "q"}}
    script.answers = [made({"items": [POD, other], "metadata": {}}), made(POD)]
    async with script.client() as client:
        ((one, two),) = [page.items async for page in client.pages(PODS, "ns", reads=OF_PODS)]
        assert one["spec"] is two["spec"]
        assert one["metadata"]["labels"] is two["metadata"]["labels"]
        assert one["metadata"] is not two["metadata"]


def _shared() -> Callable[[bytes], Any]:
    """Reads pods that share their parts."""
    parts = SharedParts()

    def read(body: bytes) -> Any:
        pod = OF_PODS.one(body)
        parts.share(pod)
        return pod

    return read


def _running(name: str, ready_since: str, **more: Any) -> bytes:
    times = {"Initialized": "2026-01-01T00:00:01Z", "PodScheduled": f"2026-01-01T00:00:0{len(name)}Z"}
    conditions = [
        {"type": type, "status": "True", "lastTransitionTime": since}
        for type, since in {**times, "Ready": ready_since, "DisruptionTarget": times["Initialized"]}.items()
    ]
    status = {"phase": "Running", "startTime": times["PodScheduled"], "conditions": conditions, **more}
    state = {"running": {"startedAt": times["PodScheduled"]}}
    status.setdefault("containerStatuses", [{"name": "c", "restartCount": 0, "state": state}])
    return json.dumps({"metadata": {"name": name, "namespace": "ns"}, "status": status}).encode()


def test_running_pods_that_became_ready_together_share_their_status() -> None:
    read = _shared()
    since, later = "2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z"
    one, two, third = read(_running("p", since)), read(_running("pp", since)), read(_running("p", later))
    assert one["status"] is two["status"]
    assert one["status"] is not third["status"]
    assert one["status"]["containerStatuses"][0] is third["status"]["containerStatuses"][0]
    assert one["status"]["containerStatuses"] == [{"name": "c", "restartCount": 0, "state": {}}]
    times = {c["type"]: c.get("lastTransitionTime") for c in third["status"]["conditions"]}
    assert times == {
        "Initialized": None,
        "PodScheduled": None,
        "Ready": later,
        "DisruptionTarget": "2026-01-01T00:00:01Z",
    }


def test_of_a_pod_that_has_ended_nothing_is_shared_that_is_its_own() -> None:
    read = _shared()
    ended = {"exitCode": 3, "startedAt": "2026-01-01T00:00:01Z", "finishedAt": "2026-01-01T00:00:02Z"}
    body = _running(
        "p", "2026-01-01T00:00:09Z", phase="Failed", containerStatuses=[{"state": {"terminated": ended}}]
    )
    one, two = read(body), read(body)
    assert one["status"] is not two["status"]
    assert one["status"]["containerStatuses"] == [
        {"state": {"terminated": {"exitCode": 3, "finishedAt": "2026-01-01T00:00:02Z"}}}
    ]


def test_parts_are_shared_again_after_all_were_forgotten() -> None:
    parts = SharedParts()

    def pod(job: int) -> dict[str, Any]:
        made: dict[str, Any] = {"metadata": {"name": "p", "labels": {"job": f"{job}"}}, "spec": {"a": job}}
        parts.share(made)
        return made

    for job in range(5000):
        one, two = pod(job), pod(job)
        assert one == {"metadata": {"name": "p", "labels": {"job": f"{job}"}}, "spec": {"a": job}}
    assert one["spec"] is two["spec"]


@pytest.mark.parametrize("reads", [WHOLE, Projection(), *READS.values()])
@pytest.mark.parametrize("what", KINDS)
async def test_a_watch_that_ends_with_an_error_says_which(
    script: Script, what: What, reads: Projection
) -> None:
    status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}

    async def stream(request: Asked) -> Reply:
        return Reply((json.dumps({"type": "ERROR", "object": status}) + "\n").encode())

    script.answers = [stream]
    async with script.client() as client, client.watch(what, "ns", reads=reads) as events:
        with pytest.raises(StatusError) as caught:
            await anext(events)
    assert (caught.value.code, caught.value.message) == (410, "too old")


@pytest.mark.parametrize("type", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])
@pytest.mark.parametrize("what", KINDS)
async def test_every_other_event_is_read_in_part(script: Script, what: tuple[str, str], type: str) -> None:
    place = {"name": "x", "namespace": "ns", "resourceVersion": "5"}
    if type == "BOOKMARK":
        place = {"resourceVersion": "5"}
    told = {"apiVersion": what[0], "kind": what[1], "metadata": place, "spec": {}, "status": {}}
    line = {"type": type, "object": told | {"metadata": place | {"managedFields": [{"manager": "m"}]}}}

    async def stream(request: Asked) -> Reply:
        return Reply((json.dumps(line) + "\n").encode())

    script.answers = [stream]
    async with script.client() as client, client.watch(what, "ns", reads=READS[what]) as events:
        (event,) = [event async for event in events]
    if type == "BOOKMARK":  # it is no object: all of it is read
        event.object["metadata"].pop("managedFields")
    assert (event.type, event.object) == (type, {"metadata": place, "spec": {}, "status": {}})


async def test_the_end_of_initial_events_is_seen_by_who_reads_no_annotations(script: Script) -> None:
    mark = {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}

    async def stream(request: Asked) -> Reply:
        return Reply((json.dumps({"type": "BOOKMARK", "object": {"metadata": mark}}) + "\n").encode())

    script.answers = [stream]
    async with script.client() as client, client.watch(PODS, "ns", reads=Projection()) as events:
        assert [event.ends_initial_events async for event in events] == [True]


def test_a_projection_decodes_what_it_cuts_out_and_covers_its_parts() -> None:
    body = json.dumps(
        POD | {"status": {"containerStatuses": None, "conditions": [{"type": "Ready"}]}}
    ).encode()
    for reads in (OF_PODS, Projection(), WHOLE, Projection(("metadata", "labels", "a"), "spec.volumes")):
        assert reads.one(body) == reads.of(json.loads(body))
        assert (OF_PODS | reads).covers(reads)
        assert reads.covers(Projection())
        assert reads.covers(WHOLE) is (reads is WHOLE)
    assert not OF_PODS.covers(Projection("spec.volumes"))


async def test_a_packed_object_gives_itself_back(script: Script) -> None:
    row = known(PODS)
    assert row is not None
    async with script.client() as client:
        entry = client.entry(row, POD)
        packed = entry.packed(True)
        assert packed is not None
        assert packed.obj == POD
        assert entry.packed(False) is None


async def test_pods_of_others_are_held_packed_unless_they_are_read_as_a_whole(script: Script) -> None:
    row = known(PODS)
    assert row is not None
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    pod = {"metadata": {"name": "p", "ownerReferences": [owner]}}
    async with script.client() as whole, script.client(reads=READS) as projected:
        assert whole.entry(row, pod).packed(False) is None
        packed = projected.entry(row, pod).packed(False)
        assert packed is not None
        assert packed.obj == pod
        owner["kind"], owner["apiVersion"] = "Job", "batch/v1"
        assert projected.entry(row, pod).packed(False) is None


async def test_without_shortcuts_objects_are_read_and_kept_whole(script: Script) -> None:
    row = known(PODS)
    assert row is not None
    script.answers = [made({"items": [POD], "metadata": {}})]
    async with script.client(reads=READS, shortcuts=False) as client:
        assert [page.items async for page in client.pages(PODS, "ns", reads=OF_PODS)] == [[POD]]
        entry = client.entry(row, POD)
        assert entry.packed(True) is None
        assert entry.read(OF_PODS) == PROJECTED


async def test_every_request_waits_for_its_turn(script: Script) -> None:
    script.answers = [made(POD)]
    turns = iter([0.0, 1.5, 3.0])
    async with script.client(pace=lambda: next(turns)) as client:
        for _ in range(3):
            await client.get(PODS, "p", "ns")
    assert script.pauses == [1.5, 3.0]
