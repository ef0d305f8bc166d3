"""Writes of one part of an object take a short way. It must come to what the long one comes to.

The short way: a status handed over in this process, finalizers taken away by the patch that is made for it.
The long way: the whole object in a request, a patch that says which finalizers are left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import PatchType
from support.api_in_memory import Server, api_in_memory

JOBS, PODS, CRON_JOBS = ("batch/v1", "Job"), ("v1", "Pod"), ("batch/v1", "CronJob")
PATHS = {
    JOBS: "/apis/batch/v1/namespaces/default/jobs/{}",
    CRON_JOBS: "/apis/batch/v1/namespaces/default/cronjobs/{}",
    PODS: "/api/v1/namespaces/default/pods/{}",
}
NOON, LATER = "2026-11-15T12:00:00Z", "2026-11-15T12:00:09Z"
POD: Obj = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
SPECS: dict[tuple[str, str], Obj] = {
    JOBS: {"template": {"spec": POD}},
    PODS: POD,
    CRON_JOBS: {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": {"spec": POD}}}},
}


def condition(kind: str, status: str = "True", **more: Any) -> Obj:
    return {"type": kind, "status": status, "lastTransitionTime": NOON, **more}


def container(state: Obj) -> Obj:
    return {"name": "c", "state": state, "ready": False, "restartCount": 0, "image": "i", "imageID": ""}


STORIES: list[tuple[tuple[str, str], list[Obj]]] = [
    (JOBS, [{"active": 1, "startTime": NOON, "ready": 0}, {"startTime": NOON, "succeeded": 1}]),
    (JOBS, [{"startTime": NOON, "uncountedTerminatedPods": {"succeeded": ["u", "v"]}}, {"startTime": NOON}]),
    (JOBS, [{"failed": 2, "startTime": NOON}, {"failed": 1, "startTime": LATER}]),
    (JOBS, [{"startTime": NOON, "conditions": [condition("Complete")]}]),
    (
        JOBS,
        [
            {"startTime": NOON, "conditions": [condition("SuccessCriteriaMet")]},
            {
                "startTime": NOON,
                "completionTime": LATER,
                "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
            },
            {"startTime": NOON, "conditions": [condition("SuccessCriteriaMet", "False")]},
        ],
    ),
    (JOBS, [{}, {"active": -1}, {"ready": 1}]),
    (PODS, [{"phase": "Running"}, {"phase": "Running"}, {}]),
    (PODS, [{"phase": "Running", "conditions": [condition("Ready"), condition("!")]}]),
    (
        PODS,
        [
            {"conditions": [condition("Ready", observedGeneration=1), condition("PodScheduled")]},
            {"conditions": [condition("PodScheduled"), condition("Ready", "False")]},
        ],
    ),
    (
        PODS,
        [
            {"phase": "Running", "containerStatuses": [container({"terminated": {"exitCode": 1}})]},
            {"phase": "Running", "containerStatuses": [container({"running": {}})]},
        ],
    ),
    (PODS, [{"podIP": "10.0.0.1"}, {"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.1"}]}]),
    (PODS, [{"podIPs": [{"ip": "10.0.0.1"}]}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}]),
    (PODS, [{"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}]}, {"hostIPs": [{"ip": "10.0.0.1"}]}]),
    (PODS, [{"qosClass": "Guaranteed"}, {"resourceClaimStatuses": [{"name": "x"}]}]),
    (
        CRON_JOBS,
        [
            {"lastScheduleTime": NOON, "active": [{"kind": "Job", "name": "a", "uid": "u"}, {}]},
            {"lastScheduleTime": LATER, "active": [{"kind": "Job", "name": "b", "uid": "v"}]},
            {"lastScheduleTime": LATER, "lastSuccessfulTime": LATER},
            {"lastScheduleTime": LATER, "lastSuccessfulTime": LATER},
            {},
        ],
    ),
    (CRON_JOBS, [{"lastScheduleTime": "2026-11-15T13:00:00.5+01:00", "active": []}, {"active": None}]),
]


async def told(answer: Awaitable[Obj]) -> tuple[int, Any]:
    try:
        return 200, seen(await answer)
    except StatusError as err:
        return err.code, err.message.replace("short", "long")


def seen(obj: Obj) -> Obj:
    """What does not differ from one object of a sort to the next; no entry keeps its second."""
    meta = obj["metadata"]
    owned = [{**entry, "time": ""} for entry in meta["managedFields"]]
    owned.sort(key=lambda entry: (entry["operation"], entry.get("subresource", ""), entry["manager"]))
    kept = {key: meta.get(key) for key in ("finalizers", "generation", "deletionTimestamp")}
    return {**kept, "labels": sorted(meta.get("labels") or ()), "owned": owned, "status": obj.get("status")}


async def put(server: Server, what: tuple[str, str], obj: Obj) -> tuple[int, Any]:
    """The long way: a request that says all."""
    whole = {"apiVersion": what[0], "kind": what[1], **obj}
    path = PATHS[what].format("long") + "/status"
    answer = await server.send("PUT", path, whole, fieldManager="node")
    return answer.code, seen(answer.body) if answer.code == 200 else answer.message


@pytest.mark.parametrize(("what", "story"), STORIES)
def test_a_status_handed_over_is_judged_like_one_that_was_sent(
    what: tuple[str, str], story: list[Obj]
) -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            for name in ("short", "long"):
                await server.client.create(what, {"metadata": {"name": name}, "spec": SPECS[what]}, "default")
            for status in story:
                obj = {**await server.client.get(what, "short", "default"), "status": status}
                short = await told(server.client.update_status(what, obj, manager="node"))
                obj = {**await server.client.get(what, "long", "default"), "status": status}
                assert short == await put(server, what, obj)
            ends = [seen(await server.client.get(what, name, "default")) for name in ("short", "long")]
            assert ends[0] == ends[1]

    asyncio.run(play())


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"uid": "another"}, 409),
        ({"resourceVersion": "1"}, 409),
        ({"resourceVersion": "no number"}, 500),
        ({"namespace": "elsewhere"}, 400),
        ({"resourceVersion": ""}, 200),
        ({"uid": ""}, 200),
        ({"labels": {"not": "a label"}}, 422),
    ],
)
def test_a_status_for_another_object_or_version_is_refused(wrong: Obj, code: int) -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            made = await server.client.create(
                PODS, {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": POD}, "default"
            )
            obj = {"metadata": {**made["metadata"], **wrong}, "status": {"phase": "Running"}}
            assert (await told(server.client.update_status(PODS, obj, "default")))[0] == code
            stored = await server.client.get(PODS, "p", "default")
            if code != 200:
                assert stored == made
            else:
                assert stored["status"]["phase"] == "Running"
                assert stored["metadata"]["uid"] == made["metadata"]["uid"]
                assert stored["metadata"]["labels"] == {"a": "b"}

    asyncio.run(play())


@pytest.mark.parametrize("terminating", [False, True])
def test_finalizers_taken_away_come_to_the_same_on_both_ways(terminating: bool) -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            client, found = server.client, []
            for name in ("short", "long"):
                meta = {"name": name, "finalizers": ["example.com/a", "example.com/b"]}
                await client.create(PODS, {"metadata": meta, "spec": POD}, "default")
                if terminating:
                    await client.delete(PODS, name, "default")
            for left in (["example.com/b"], []):
                gone = [{"example.com/b": "example.com/a"}.get(f, "example.com/b") for f in left or ["x"]]
                patch: Obj = {"metadata": {"$deleteFromPrimitiveList/finalizers": gone}}
                short = client.patch(PODS, "short", patch, "default", type=PatchType.STRATEGIC)
                long = client.patch(PODS, "long", {"metadata": {"finalizers": left}}, "default")
                found.append([{**seen(await answer), "deletionTimestamp": ""} for answer in (short, long)])
            assert [pair[0] for pair in found] == [pair[1] for pair in found]
            left_over = (await client.list(PODS, "default")).items
            assert [pod["metadata"]["name"] for pod in left_over] == (
                [] if terminating else ["long", "short"]
            )

    asyncio.run(play())


@pytest.mark.parametrize(
    ("what", "patch"),
    [
        (JOBS, {"labels": None}),
        (PODS, {"labels": None}),
        (PODS, {"annotations": {"pod.beta.kubernetes.io/init-containers": "[]", "a": "b"}}),
    ],
)
def test_metadata_gets_its_defaults_on_both_ways(what: tuple[str, str], patch: Obj) -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            found = []
            for name in ("short", "long"):
                obj = {"metadata": {"name": name, "labels": {"a": "b"}}, "spec": SPECS[what]}
                made = await server.client.create(what, obj, "default")
                change: Obj = {"metadata": patch}
                if name == "long":
                    change["spec"] = {"activeDeadlineSeconds": None}  # more than one part
                found.append(await server.client.patch(what, name, change, "default"))
                assert made["spec"] == found[-1]["spec"]
            short, long = map(seen, found)
            assert short == long

    asyncio.run(play())


def test_a_rehearsed_status_changes_nothing() -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            made = await server.client.create(PODS, {"metadata": {"name": "p"}, "spec": POD}, "default")
            obj = {**made, "status": {"phase": "Running"}}
            shown = await server.client.update_status(PODS, obj, dry_run=True)
            assert shown["status"]["phase"] == "Running"
            assert await server.client.get(PODS, "p", "default") == made

    asyncio.run(play())


def test_a_jobs_first_status_stores_the_labels_it_showed() -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            job = {"metadata": {"name": "j"}, "spec": SPECS[JOBS]}
            made = await server.client.create(JOBS, job, "default")
            written = await server.client.update_status(JOBS, {**made, "status": {"active": 1}})
            entry = next(e for e in server.api.store.list("batch/jobs").entries)
            assert entry.obj["metadata"]["labels"] == written["metadata"]["labels"]
            assert written["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]

    asyncio.run(play())
