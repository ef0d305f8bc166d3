"""Volcano's kinds as clients see them: served from the start, checked by Volcano's own schemas."""

from __future__ import annotations

from typing import Any

import pytest

from support.api_in_memory import Server

pytestmark = pytest.mark.anyio

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
CRON_JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/cronjobs"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"
FLOWS = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows"
TEMPLATES = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobtemplates"
POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
MERGE = "application/merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

POD: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}


def task(**more: Any) -> dict[str, Any]:
    return {"name": "w", "replicas": 1, "template": POD, **more}


def job(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"tasks": list(tasks) or [task()], **spec},
    }


def queue(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": spec,
    }


async def test_they_are_served_without_definitions(server: Server) -> None:
    crds = await server.send("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    assert crds.body["items"] == []
    for path in (JOBS, CRON_JOBS, COMMANDS, FLOWS, TEMPLATES, POD_GROUPS, QUEUES):
        assert (await server.send("GET", path)).code == 200


async def test_a_job_gets_the_defaults_of_its_schema(server: Server) -> None:
    ports = {"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}}
    made = await server.send("POST", JOBS, job(task(template=ports), networkTopology={}))
    spec = made.body["spec"]
    assert (spec["maxRetry"], spec["queue"], spec["networkTopology"]) == (3, "default", {"mode": "hard"})
    container = spec["tasks"][0]["template"]["spec"]["containers"][0]
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert made.body["metadata"]["generation"] == 1


async def test_values_are_kept_as_they_were_written(server: Server) -> None:
    resources = {"requests": {"cpu": "1000m", "memory": 1024}}
    pod = {"spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}}
    made = await server.send("POST", JOBS, job(task(template=pod)))
    assert made.body["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"] == resources


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (job(tasks=[]), "spec.tasks: Invalid value: 0: spec.tasks in body should have at least 1 items"),
        (
            job(minAvailable=-1),
            "spec.minAvailable: Invalid value: -1: "
            "spec.minAvailable in body should be greater than or equal to 0",
        ),
        (
            job(minSuccess=0),
            "spec.minSuccess: Invalid value: 0: spec.minSuccess in body should be greater than or equal to 1",
        ),
        (
            job(task(name="Upper_Case")),
            'spec.tasks[0].name: Invalid value: "Upper_Case": spec.tasks[0].name in body should match '
            "'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
        ),
        (job(task(name="a" * 64)), "spec.tasks[0].name: Too long: may not be more than 63 bytes"),
        (
            job(policies=[{"event": "PodExploded", "action": "RestartJob"}]),
            'spec.policies[0].event: Unsupported value: "PodExploded": supported values: "*", "PodPending", '
            '"PodRunning", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "OutOfSync", '
            '"CommandIssued", "JobUpdated", "TaskFailed"',
        ),
        (
            job(volumes=[{"mountPath": ""}]),
            'spec.volumes[0].mountPath: Invalid value: "": '
            "spec.volumes[0].mountPath in body should be at least 1 chars long",
        ),
        (
            job(task(topologyPolicy="loose")),
            'spec.tasks[0].topologyPolicy: Unsupported value: "loose": supported values: "none", '
            '"best-effort", "restricted", "single-numa-node"',
        ),
        (
            job(task(partitionPolicy={"totalPartitions": 0, "partitionSize": 2})),
            "spec.tasks[0].partitionPolicy.totalPartitions: Invalid value: 0: "
            "spec.tasks[0].partitionPolicy.totalPartitions in body should be greater than or equal to 1",
        ),
        (
            job(task(template={"spec": {}})),
            "spec.tasks[0].template.spec.containers: Required value",
        ),
        (
            job(task(template={"spec": {"containers": [{"name": "c"}, {"name": "c"}]}})),
            'spec.tasks[0].template.spec.containers[1]: Duplicate value: {"name":"c"}',
        ),
    ],
)
async def test_a_job_is_refused_in_the_words_of_its_schema(
    server: Server, body: dict[str, Any], message: str
) -> None:
    answer = await server.send("POST", JOBS, body)
    assert (answer.code, answer.message) == (422, f'Job.batch.volcano.sh "j" is invalid: {message}')


@pytest.mark.parametrize(
    "body",
    [
        job(policies=[{"event": "PodFailed", "action": "Explode"}]),
        job(task(template={"spec": {"containers": [], "restartPolicy": "Sometimes"}})),
        job(task(dependsOn={"name": ["x"], "iteration": "some"})),
    ],
)
async def test_what_only_admission_can_judge_passes_the_schema(server: Server, body: dict[str, Any]) -> None:
    answer = await server.send("POST", JOBS, body)
    assert (answer.code, "reason" in answer.body) == (400, False)


async def test_unknown_fields_are_dropped_also_in_pod_templates(server: Server) -> None:
    pod = {"spec": {"containers": [{"name": "c", "image": "i", "imagee": "x"}]}}
    answer = await server.send("POST", JOBS, job(task(template=pod)), fieldValidation="Strict")
    assert answer.message == (
        'Job in version "v1alpha1" cannot be handled as a Job: strict decoding error: '
        'unknown field "spec.tasks[0].template.spec.containers[0].imagee"'
    )
    made = await server.send("POST", JOBS, job(task(template=pod)))
    assert made.body["spec"]["tasks"][0]["template"]["spec"]["containers"] == [{"name": "c", "image": "i"}]


async def test_a_names_wrong_type_is_told_as_kubernetes_does(server: Server) -> None:
    body = job()
    body["metadata"]["name"] = False
    answer = await server.send("POST", JOBS, body)
    assert (answer.code, answer.message) == (
        400,
        'Job in version "v1alpha1" cannot be handled as a Job: '
        "json: cannot unmarshal bool into Go struct field ObjectMeta.name of type string",
    )


async def test_a_jobs_status_is_apart_and_checked(server: Server) -> None:
    made = (await server.send("POST", JOBS, job() | {"status": {"running": 1}})).body
    assert "status" not in made
    up = await server.send(
        "PATCH", f"{JOBS}/j/status", {"status": {"state": {"phase": "Running"}}}, type=MERGE
    )
    assert up.body["status"] == {"state": {"phase": "Running"}}
    assert up.body["metadata"]["generation"] == 1
    odd = await server.send("PATCH", f"{JOBS}/j/status", {"status": {"state": {"phase": "Odd"}}}, type=MERGE)
    assert 'status.state.phase: Unsupported value: "Odd"' in odd.message


async def test_a_pod_groups_status_is_written_with_the_rest(server: Server) -> None:
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"minMember": 2, "subGroupPolicy": [{"name": "s"}]},
        "status": {"phase": "Pending"},
    }
    made = (await server.send("POST", POD_GROUPS, group)).body
    assert made["status"] == {"phase": "Pending"}
    assert made["spec"]["queue"] == "default"
    assert made["spec"]["subGroupPolicy"] == [{"name": "s", "minSubGroups": 0, "subGroupSize": 1}]
    assert (await server.send("GET", f"{POD_GROUPS}/g/status")).code == 404
    up = await server.send("PATCH", f"{POD_GROUPS}/g", {"status": {"phase": "Inqueue"}}, type=MERGE)
    assert up.body["metadata"]["generation"] == 2


async def test_queues_are_cluster_scoped_and_weighed(server: Server) -> None:
    made = await server.send("POST", QUEUES, queue(capability={"cpu": 4}))
    assert made.body["spec"] == {
        "capability": {"cpu": 4},
        "weight": 1,
        "dequeueStrategy": "traverse",
        "reclaimable": True,
    }
    assert "namespace" not in made.body["metadata"]
    heavy = await server.send("PATCH", f"{QUEUES}/q", {"spec": {"weight": 70000}}, type=MERGE)
    assert heavy.message == (
        'Queue.scheduling.volcano.sh "q" is invalid: spec.weight: Invalid value: 70000: '
        "spec.weight in body should be less than or equal to 65535"
    )
    odd = await server.send("PATCH", f"{QUEUES}/q/status", {"status": {"state": "Odd"}}, type=MERGE)
    assert odd.message == (
        'Queue.scheduling.volcano.sh "q" is invalid: status.state: Unsupported value: "Odd": '
        'supported values: "Open", "Closed", "Closing", "Unknown"'
    )


async def test_cron_jobs_flows_templates_and_commands(server: Server) -> None:
    cron: dict[str, Any] = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": "c"},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job()["spec"]}},
    }
    spec = (await server.send("POST", CRON_JOBS, cron)).body["spec"]
    assert {k: v for k, v in spec.items() if k != "jobTemplate"} == {
        "schedule": "0 0 1 1 *",
        "concurrencyPolicy": "Allow",
        "failedJobsHistoryLimit": 1,
        "successfulJobsHistoryLimit": 3,
        "suspend": False,
    }
    assert spec["jobTemplate"]["spec"]["maxRetry"] == 3
    cron["spec"]["concurrencyPolicy"] = "Maybe"
    cron["metadata"] = {"name": "d"}
    assert (await server.send("POST", CRON_JOBS, cron)).message == (
        'CronJob.batch.volcano.sh "d" is invalid: spec.concurrencyPolicy: Unsupported value: "Maybe": '
        'supported values: "Allow", "Forbid", "Replace"'
    )
    flow = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": "f"},
        "spec": {"flows": [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]},
    }
    assert (await server.send("POST", FLOWS, flow)).code == 201
    bad = flow | {"metadata": {"name": "g"}, "spec": {"jobRetainPolicy": "maybe"}}
    assert (await server.send("POST", FLOWS, bad)).message == (
        'JobFlow.flow.volcano.sh "g" is invalid: spec.jobRetainPolicy: Unsupported value: "maybe": '
        'supported values: "retain", "delete"'
    )
    template = flow | {"kind": "JobTemplate", "spec": job()["spec"]}
    assert (await server.send("POST", TEMPLATES, template)).body["spec"]["queue"] == "default"
    command = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"generateName": "c-"},
        "action": "AbortJob",
        "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "u"},
    }
    made = await server.send("POST", COMMANDS, command)
    assert (made.code, made.body["action"], made.body["target"]["name"]) == (201, "AbortJob", "j")


@pytest.mark.parametrize(
    ("path", "columns"),
    [
        (JOBS, ["Name", "STATUS", "minAvailable", "RUNNINGS", "AGE", "QUEUE"]),
        (POD_GROUPS, ["Name", "STATUS", "minMember", "RUNNINGS", "AGE", "QUEUE"]),
        (QUEUES, ["Name", "PARENT"]),
        (FLOWS, ["Name", "Status", "Age"]),
        (TEMPLATES, ["Name", "Age"]),
    ],
)
async def test_tables_have_volcanos_columns(server: Server, path: str, columns: list[str]) -> None:
    table = (await server.send("GET", path, accept=TABLE)).body
    assert [c["name"] for c in table["columnDefinitions"]] == columns


async def test_openapi_describes_them_with_kubernetes_pod_templates(server: Server) -> None:
    document = (await server.send("GET", "/openapi/v3/apis/batch.volcano.sh/v1alpha1")).body
    schemas = document["components"]["schemas"]
    spec = schemas["sh.volcano.batch.v1alpha1.Job"]["properties"]["spec"]
    assert spec["properties"]["maxRetry"]["default"] == 3
    pod = spec["properties"]["tasks"]["items"]["properties"]["template"]["properties"]["spec"]
    assert pod == {"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}
    assert "containers" in schemas["io.k8s.api.core.v1.PodSpec"]["properties"]
    old = (await server.send("GET", "/openapi/v2", accept="application/json")).body
    assert "sh.volcano.scheduling.v1beta1.Queue" in old["definitions"]
