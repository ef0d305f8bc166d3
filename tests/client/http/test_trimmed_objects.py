"""A client may leave out of lists and watches what its reader does not need, and keep its own pace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.http.scripted_server import Script, made
from longshore.api.errors import StatusError
from longshore.client import What
from longshore.client.ask import known
from longshore.client.http.trimmed_objects import FOR_CONTROLLERS, SharedParts
from support.http_server import Asked, Reply

pytestmark = pytest.mark.anyio
PODS = ("v1", "Pod")
KINDS = (PODS, ("batch/v1", "Job"))
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
TRIMMED = {
    "metadata": {"name": "p", "namespace": "ns", "resourceVersion": "5", "labels": {"a": "b"}},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": {"limits": {}}}]},
    "status": {"phase": "Running"},
}


async def test_pods_come_without_what_no_rule_reads(script: Script) -> None:
    line = json.dumps({"type": "ADDED", "object": POD}) + "\n"

    async def stream(request: Asked) -> Reply:
        return Reply((line).encode())

    script.answers = [made({"items": [POD], "metadata": {}}), stream, made(POD)]
    async with script.client(trimmed=FOR_CONTROLLERS) as client:
        assert (await client.list(PODS, "ns")).items == [TRIMMED]
        async with client.watch(PODS, "ns") as events:
            assert [event.object async for event in events] == [TRIMMED]
        assert await client.create(PODS, POD) == TRIMMED
        assert await client.patch(PODS, "p", {}, "ns") == TRIMMED
        assert await client.get(PODS, "p", "ns") == POD  # may be written back


async def test_pods_of_one_template_share_its_parts(script: Script) -> None:
    other = {**POD, "metadata": {**POD["metadata"], "name": "q"}}
    script.answers = [made({"items": [POD, other], "metadata": {}}), made(POD)]
    async with script.client(trimmed=FOR_CONTROLLERS) as client:
        one, two = (await client.list(PODS, "ns")).items
        assert one["spec"] is two["spec"]
        assert one["metadata"]["labels"] is two["metadata"]["labels"]
        assert one["metadata"] is not two["metadata"]


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
    read = FOR_CONTROLLERS["pods"].one
    since, later = "2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z"
    one, two, third = read(_running("p", since)), read(_running("pp", since)), read(_running("p", later))
    assert one["status"] is two["status"]
    assert one["status"] is not third["status"]
    assert one["status"]["containerStatuses"][0] is third["status"]["containerStatuses"][0]
    times = {c["type"]: c.get("lastTransitionTime") for c in third["status"]["conditions"]}
    assert times == {
        "Initialized": None,
        "PodScheduled": None,
        "Ready": later,
        "DisruptionTarget": "2026-01-01T00:00:01Z",
    }


def test_of_a_pod_that_has_ended_nothing_is_shared_that_is_its_own() -> None:
    read = FOR_CONTROLLERS["pods"].one
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


@pytest.mark.parametrize("trimmed", [None, FOR_CONTROLLERS])
@pytest.mark.parametrize("what", KINDS)
async def test_a_watch_that_ends_with_an_error_says_which(script: Script, what: What, trimmed: Any) -> None:
    status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}

    async def stream(request: Asked) -> Reply:
        return Reply((json.dumps({"type": "ERROR", "object": status}) + "\n").encode())

    script.answers = [stream]
    async with script.client(trimmed=trimmed) as client, client.watch(what, "ns") as events:
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
    async with script.client(trimmed=FOR_CONTROLLERS) as client, client.watch(what, "ns") as events:
        (event,) = [event async for event in events]
    assert (event.type, event.object) == (type, {"metadata": place, "spec": {}, "status": {}})


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
    async with script.client() as whole, script.client(trimmed=FOR_CONTROLLERS) as trimmed:
        assert whole.entry(row, pod).packed(False) is None
        packed = trimmed.entry(row, pod).packed(False)
        assert packed is not None
        assert packed.obj == pod
        owner["kind"], owner["apiVersion"] = "Job", "batch/v1"
        assert trimmed.entry(row, pod).packed(False) is None


async def test_without_shortcuts_objects_are_read_and_kept_whole(script: Script) -> None:
    row = known(PODS)
    assert row is not None
    script.answers = [made({"items": [POD], "metadata": {}})]
    async with script.client(trimmed=FOR_CONTROLLERS, shortcuts=False) as client:
        assert (await client.list(PODS, "ns")).items == [POD]
        assert client.entry(row, POD).packed(True) is None


async def test_every_request_waits_for_its_turn(script: Script) -> None:
    script.answers = [made(POD)]
    turns = iter([0.0, 1.5, 3.0])
    async with script.client(pace=lambda: next(turns)) as client:
        for _ in range(3):
            await client.get(PODS, "p", "ns")
    assert script.pauses == [1.5, 3.0]
