"""What a new Volcano Job is given before anybody checks it."""

from __future__ import annotations

from typing import Any

import pytest

from support.api_in_memory import Server
from support.volcano_manifests import JOBS, created, denied, job, pod_spec, task

pytestmark = pytest.mark.anyio


async def spec_of(server: Server, body: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = (await created(server, JOBS, body))["spec"]
    return spec


async def test_tasks_get_names_minima_and_retries_and_the_job_their_sum(server: Server) -> None:
    first, second = task(replicas=2), task(replicas=3, minAvailable=1)
    del first["name"], second["name"]
    spec = await spec_of(server, job(first, second))
    got = [(t["name"], t["minAvailable"], t["maxRetry"]) for t in spec["tasks"]]
    assert got == [("default0", 2, 3), ("default1", 1, 3)]
    assert (spec["minAvailable"], spec["maxRetry"], spec["queue"], spec["schedulerName"]) == (
        3, 3, "default", "volcano",
    )  # fmt: skip


async def test_zeros_are_filled_in_and_what_is_given_is_kept(server: Server) -> None:
    given = job(task(replicas=2, maxRetry=5), minAvailable=1, maxRetry=0, schedulerName="other")
    spec = await spec_of(server, given)
    assert (spec["minAvailable"], spec["maxRetry"], spec["schedulerName"]) == (1, 3, "other")
    assert spec["tasks"][0]["maxRetry"] == 5


async def test_partitions_say_how_many_pods_are_the_minimum(server: Server) -> None:
    policy = {"totalPartitions": 3, "partitionSize": 2, "minPartitions": 2}
    spec = await spec_of(server, job(task(replicas=6, partitionPolicy=policy)))
    assert (spec["minAvailable"], spec["tasks"][0]["minAvailable"]) == (4, 4)


@pytest.mark.parametrize(
    ("pod", "policy"),
    [
        ({"hostNetwork": True}, "ClusterFirstWithHostNet"),
        ({"hostNetwork": True, "dnsPolicy": "Default"}, "Default"),
        ({}, None),
    ],
)
async def test_pods_on_the_host_network_still_find_services(
    server: Server, pod: dict[str, Any], policy: str | None
) -> None:
    spec = await spec_of(server, job(task(template={"spec": pod_spec(**pod)})))
    assert spec["tasks"][0]["template"]["spec"].get("dnsPolicy") == policy


@pytest.mark.parametrize(
    ("given", "plugins"),
    [
        ({"tensorflow": []}, {"tensorflow": [], "svc": []}),
        ({"mpi": [], "ssh": ["--ssh-port=2022"]}, {"mpi": [], "ssh": ["--ssh-port=2022"], "svc": []}),
        ({"pytorch": [], "ray": []}, {"pytorch": [], "ray": [], "svc": []}),
        ({"env": []}, {"env": []}),
    ],
)
async def test_plugins_bring_those_they_need(
    server: Server, given: dict[str, Any], plugins: dict[str, Any]
) -> None:
    assert (await spec_of(server, job(task("master"), plugins=given)))["plugins"] == plugins


async def test_what_go_cannot_read_is_refused_before_the_schema_is_asked(server: Server) -> None:
    async def refused(body: dict[str, Any]) -> str:
        return denied(await server.send("POST", JOBS, body), "mutatejob")

    late = job(policies=[{"event": "PodPending", "action": "AbortJob", "timeout": "soon"}], minSuccess=0)
    assert await refused(late) == 'time: invalid duration "soon"'
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "lots"}}}
    assert (await refused(job(task(template={"spec": pod_spec(containers=[container])})))).startswith(
        "quantities must match the regular expression"
    )
    assert await refused(job(minAvailable="two")) == (
        "json: cannot unmarshal string into Go struct field JobSpec.spec.minAvailable of type int32"
    )


async def test_the_schema_sees_what_was_filled_in(server: Server) -> None:
    answer = await server.send("POST", JOBS, job(task(replicas=-1)))
    assert answer.code == 422
    for path in ("spec.minAvailable", "spec.tasks[0].minAvailable", "spec.tasks[0].replicas"):
        assert f"{path}: Invalid value: -1" in answer.message


async def test_a_job_that_is_applied_again_is_unchanged_and_may_grow(server: Server) -> None:
    apply = {"type": "application/apply-patch+yaml", "fieldManager": "one"}
    body = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", **job(task("w", 2))}
    first = await server.send("PATCH", f"{JOBS}/j", body, **apply)
    again = await server.send("PATCH", f"{JOBS}/j", body, **apply)
    assert (first.code, again.code) == (201, 200), again.body
    assert again.body == first.body
    body["spec"]["tasks"][0]["replicas"] = 3
    grown = await server.send("PATCH", f"{JOBS}/j", body, **apply)
    assert [(t["replicas"], t["minAvailable"], t["maxRetry"]) for t in grown.body["spec"]["tasks"]] == [
        (3, 3, 3)
    ]
