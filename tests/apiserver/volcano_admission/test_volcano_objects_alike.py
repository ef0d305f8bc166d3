"""A Job or PodGroup that is like one before it is stored, and refused, exactly as if it were the first."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.types import Obj
from support.api_in_memory import Server
from support.volcano_manifests import JOBS, MERGE, POD_GROUPS, created, denied, job, pod_group, task
from support.volcano_queues import open_queue, set_state

pytestmark = pytest.mark.anyio

OWN = ("name", "uid", "resourceVersion", "creationTimestamp")


def common(made: Obj) -> Obj:
    """All that does not tell objects apart."""
    meta = {key: value for key, value in made["metadata"].items() if key not in OWN}
    for entry in meta["managedFields"]:
        del entry["time"]
    return {**made, "metadata": meta}


def owned(made: dict[str, Any], uid: str) -> dict[str, Any]:
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": uid}
    made["metadata"] |= {"ownerReferences": [owner], "labels": {"team": "a"}}
    return made


@pytest.mark.parametrize("of_process", [False, True])
async def test_the_second_one_is_as_the_first(server: Server, of_process: bool) -> None:
    async def make(path: str, body: dict[str, Any]) -> Obj:
        if of_process:
            kind = (body["apiVersion"], body["kind"])
            await server.client.create(kind, body, "default")
            name = body["metadata"]["name"]
            return dict((await server.send("GET", f"{path}/{name}")).body)
        return await created(server, path, body)

    jobs = [await make(JOBS, owned(job(task(replicas=2), name=f"j{n}"), "u")) for n in range(3)]
    groups = [await make(POD_GROUPS, owned(pod_group(f"g{n}", minMember=2), "u")) for n in range(3)]
    for made in (jobs, groups):
        assert common(made[0]) == common(made[1]) == common(made[2])
    assert jobs[1]["spec"]["minAvailable"] == 2


async def test_another_owner_is_another_name_in_the_managed_fields(server: Server) -> None:
    first = await created(server, POD_GROUPS, owned(pod_group("g1", minMember=2), "one"))
    second = await created(server, POD_GROUPS, owned(pod_group("g2", minMember=2), "two"))
    fields = [m["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"] for m in (first, second)]
    assert [*fields[0]["f:ownerReferences"]][-1] == 'k:{"uid":"one"}'
    assert [*fields[1]["f:ownerReferences"]][-1] == 'k:{"uid":"two"}'


async def test_what_changes_one_leaves_the_other_alone(server: Server) -> None:
    for name in ("a", "b"):
        await created(server, JOBS, job(task(replicas=2), name=name))
    patch = {"spec": {"minAvailable": 1}}
    assert (await server.send("PATCH", f"{JOBS}/a", patch, type=MERGE)).code == 200
    assert (await server.send("GET", f"{JOBS}/b")).body["spec"]["minAvailable"] == 2


async def test_the_queue_is_asked_each_time(server: Server) -> None:
    await open_queue(server.client, "q")
    for path, webhook, made in (
        (JOBS, "validatejob", lambda name: job(queue="q", name=name)),
        (POD_GROUPS, "validatepodgroup", lambda name: pod_group(name, queue="q")),
    ):
        await set_state(server.client, "q", "Open")
        await created(server, path, made("first"))
        await created(server, path, made("second"))
        await set_state(server.client, "q", "Closed")
        assert "with state `Open`, queue `q` status is `Closed`" in denied(
            await server.send("POST", path, made("third")), webhook
        )


async def test_pods_that_would_have_too_long_names_are_told_of(server: Server) -> None:
    await created(server, JOBS, job(name="a"))
    await created(server, JOBS, job(name="b"))
    name = "c" * 61
    text = denied(await server.send("POST", JOBS, job(name=name)), "validatejob")
    assert text.startswith(f"create pod with name {name}-w-0 validate failed")


async def test_unknown_fields_are_told_of_each_time(server: Server) -> None:
    for name in ("a", "b"):
        answer = await server.send("POST", JOBS, job(task(colour="red"), name=name))
        assert (answer.code, answer.warning) == (201, '299 - "unknown field \\"spec.tasks[0].colour\\""')


async def test_a_kind_must_be_named(server: Server) -> None:
    await created(server, JOBS, job(name="a"))
    unnamed = job(name="b")
    del unnamed["kind"]
    assert (await server.send("POST", JOBS, unnamed)).code == 400


async def test_a_namespace_names_the_queue_of_later_groups(server: Server) -> None:
    await open_queue(server.client, "q")
    await created(server, POD_GROUPS, pod_group("a", minMember=1))
    note = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "q"}}}
    await server.client.patch(("v1", "Namespace"), "default", note)
    made = await created(server, POD_GROUPS, pod_group("b", minMember=1))
    assert made["spec"]["queue"] == "q"
