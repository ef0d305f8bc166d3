"""`longshore manifests`: a stream that a cluster takes as it is, narrowed as far as asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml

from longshore import __version__
from longshore.api.types import Obj
from longshore.cli.main import main
from longshore.client import Client
from longshore.up.options import Options
from longshore.up.running import running


@pytest.fixture
async def client(anyio_backend: str) -> AsyncIterator[Client]:
    async with running(Options(in_memory=True, port=0)) as longshore:
        yield longshore.client


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[Obj]:
    assert main(["manifests", *words]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def of_kind(objects: list[Obj], kind: str) -> Obj:
    (found,) = [obj for obj in objects if obj["kind"] == kind]
    return found


def container(objects: list[Obj]) -> Obj:
    only: Obj = of_kind(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    return only


@pytest.mark.anyio
async def test_a_server_takes_every_object(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    for obj in printed(capsys):
        if obj["kind"] != "Deployment":
            await client.create((obj["apiVersion"], obj["kind"]), obj)
            continue
        template = obj["spec"]["template"]  # longshore serves no Deployments; their pods it can check
        labels = template["metadata"]["labels"]
        assert labels == obj["spec"]["selector"]["matchLabels"]
        pod = {"metadata": {"name": "p", "labels": labels}, "spec": template["spec"]}
        await client.create(("v1", "Pod"), pod, obj["metadata"]["namespace"])


def test_by_default_the_job_controller_goes_to_a_namespace_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    objects = printed(capsys)
    assert objects[0]["kind"] == "Namespace"
    assert objects[0]["metadata"]["name"] == "longshore-system"
    assert {o["metadata"].get("namespace", "longshore-system") for o in objects} == {"longshore-system"}
    assert container(objects)["image"] == f"longshore:{__version__}"
    assert container(objects)["command"] == ["longshore", "controllers", "--metrics-port", "0.0.0.0:8080"]


def test_the_deployment_can_be_operated(capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys)
    deployment = of_kind(objects, "Deployment")
    assert container(objects)["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container(objects)["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container(objects)["resources"]["limits"] == {"memory": "1Gi"}
    selector = deployment["spec"]["selector"]
    (spread,) = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"] == selector
    budget = of_kind(objects, "PodDisruptionBudget")
    assert budget["spec"] == {"maxUnavailable": 1, "selector": selector}


def test_namespace_and_image_are_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, "--namespace", "batch", "--image", "registry.example/longshore:1")
    places = {o["metadata"]["namespace"] for o in objects if "namespace" in o["metadata"]}
    assert places == {"batch"}
    subjects: list[Any] = [s for o in objects for s in o.get("subjects", ())]
    assert {s["namespace"] for s in subjects} == {"batch"}
    assert container(objects)["image"] == "registry.example/longshore:1"


def test_what_runs_is_what_the_rights_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--controllers", "job,ttl", "--managed-by", "kubernetes.io/job-controller")
    objects = printed(capsys, *words)
    command = container(objects)["command"]
    assert command[-4:] == ["--controllers", "job,ttl", "--managed-by", "kubernetes.io/job-controller"]
    rules = of_kind(objects, "ClusterRole")["rules"]
    assert any("delete" in r["verbs"] and r["resources"] == ["jobs"] for r in rules)


def test_webhooks_bring_a_service_configurations_and_rights(capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, "--webhooks", "--namespace", "batch")
    assert of_kind(objects, "Service")["metadata"]["namespace"] == "batch"
    (calls,) = {
        tuple(webhook["clientConfig"]["service"][key] for key in ("name", "namespace", "port"))
        for obj in objects
        for webhook in obj.get("webhooks", ())
    }
    assert calls == ("longshore-webhooks", "batch", 443)
    assert container(objects)["command"][-1] == "--webhooks"
    (port,) = [port for port in container(objects)["ports"] if port["name"] == "webhooks"]
    assert of_kind(objects, "Service")["spec"]["ports"][0]["targetPort"] == port["name"]
    secrets = [rule for rule in of_kind(objects, "Role")["rules"] if rule["resources"] == ["secrets"]]
    assert [rule.get("resourceNames") for rule in secrets] == [None, ["longshore-webhooks"]]


def test_webhooks_judge_nothing_of_the_stream_that_brings_them(capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, "--webhooks", "--scheduler", "--controllers", "volcano-job,volcano-queue")
    rules = [rule for obj in objects for webhook in obj.get("webhooks", ()) for rule in webhook["rules"]]
    judged = {group for rule in rules for group in rule["apiGroups"]} - {""}
    assert "scheduling.volcano.sh" in judged
    assert not [obj for obj in objects if obj["apiVersion"].split("/")[0] in judged]


def test_one_namespace_needs_no_rights_in_the_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, "--only-namespace", "team")
    assert not [o for o in objects if o["kind"].startswith("Cluster")]
    role, binding = [o for o in objects if o["metadata"].get("namespace") == "team"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert container(objects)["command"][-2:] == ["--namespace", "team"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--controllers", "garbage", "--only-namespace", "x"],
            "these controllers need all namespaces: garbage",
        ),
        (["--webhooks", "--only-namespace", "x"], "--webhooks answer for all namespaces"),
        (["--controllers", "serviceaccount"], "serviceaccount runs in longshore up alone"),
        (["--controllers", "job,nodelifecycle"], "nodelifecycle runs in longshore up alone"),
        (["--controllers", "none"], "name at least one controller"),
    ],
)
def test_what_cannot_be_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manifests", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
