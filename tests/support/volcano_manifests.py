"""Manifests of Volcano's kinds, as short as they can be."""

from __future__ import annotations

from typing import Any

from support.api_in_memory import Answer, Server
from support.manifests import manifest

BATCH = "/apis/batch.volcano.sh/v1alpha1/namespaces/default"
JOBS, CRON_JOBS = f"{BATCH}/jobs", f"{BATCH}/cronjobs"
FLOWS = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows"
POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"

Manifest = dict[str, Any]


def pod_spec(**more: Any) -> Manifest:
    return {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never", **more}


def task(name: str = "w", replicas: int = 1, **more: Any) -> Manifest:
    return {"name": name, "replicas": replicas, "template": {"spec": pod_spec()}, **more}


def job(*tasks: Manifest, name: str = "j", **spec: Any) -> Manifest:
    return manifest(("batch.volcano.sh/v1alpha1", "Job"), name, {"tasks": list(tasks) or [task()], **spec})


def queue(name: str, annotations: Manifest | None = None, **spec: Any) -> Manifest:
    made = manifest(("scheduling.volcano.sh/v1beta1", "Queue"), name, spec)
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made


def pod_group(name: str = "g", **spec: Any) -> Manifest:
    return manifest(("scheduling.volcano.sh/v1beta1", "PodGroup"), name, spec)


def cron_job(name: str = "c", schedule: str = "* * * * *", **spec: Any) -> Manifest:
    inner = {"jobTemplate": {"spec": job()["spec"]}}
    return manifest(("batch.volcano.sh/v1alpha1", "CronJob"), name, {"schedule": schedule, **inner, **spec})


def flow(*flows: Manifest) -> Manifest:
    return manifest(("flow.volcano.sh/v1alpha1", "JobFlow"), "f", {"flows": list(flows)})


def pod(annotations: Manifest, scheduler: str = "volcano") -> Manifest:
    made = manifest(("v1", "Pod"), "p", pod_spec(schedulerName=scheduler))
    made["metadata"]["annotations"] = annotations
    return made


def denied(answer: Answer, webhook: str) -> str:
    """Why a webhook refused; fails if it did not, or not as webhooks do."""
    head = f'admission webhook "{webhook}.volcano.sh" denied the request: '
    assert (answer.code, answer.body.get("reason"), answer.message[: len(head)]) == (400, None, head)
    return answer.message[len(head) :]


async def created(server: Server, path: str, body: Manifest) -> Manifest:
    answer = await server.send("POST", path, body)
    assert answer.code == 201, answer.message
    made: Manifest = answer.body
    return made
