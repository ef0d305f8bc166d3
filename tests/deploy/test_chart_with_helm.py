"""The chart with a real helm renders what `longshore manifests` prints, is installed, changes, and goes.

Part of `make test-deploy`, which fetches helm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from deploy.charted import CHART, DEPLOY, ROOT, helm, identity, rendered
from longshore.api.types import Obj
from longshore.up import manifests
from longshore.up.manifests import WantedInstallation
from support.longshore_process import RunningLongshore, longshore_up

pytestmark = pytest.mark.skipif(
    not os.environ.get("LONGSHORE_TEST_DEPLOY"), reason="make test-deploy runs this"
)

ALL = "cronjob,garbage,job,namespace,podgc,ttl,volcano-gc,volcano-job,volcano-podgroup,volcano-queue"
CASES = {
    "as it comes": ([], WantedInstallation()),
    "all controllers in shards, and the scheduler": (
        ["--set", f"controllers={{{ALL}}},shards=8,shardBy=object,scheduler.enabled=true"],
        WantedInstallation(controllers=tuple(ALL.split(",")), shards=8, shard_by="object", scheduler=True),
    ),
    "webhooks": (
        ["--set", "controllers={volcano-job},webhooks.enabled=true"],
        WantedInstallation(controllers=("volcano-job",), webhooks=True),
    ),
    "webhooks beside shards": (
        ["--set", "shards=4,webhooks.enabled=true"],
        WantedInstallation(shards=4, webhooks=True),
    ),
    "one namespace, all Jobs": (
        ["--set", "onlyNamespace=team,managedBy=kubernetes.io/job-controller"],
        WantedInstallation(only="team", managed_by="kubernetes.io/job-controller"),
    ),
    "gangs of one namespace": (
        ["--set", "onlyNamespace=team,controllers={volcano-job}"],
        WantedInstallation(only="team", controllers=("volcano-job",)),
    ),
}


def bare(obj: Obj) -> Obj:
    """Without labels of helm's own."""
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "labels"}}


def test_helm_finds_nothing_wrong() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


@pytest.mark.parametrize("case", CASES)
def test_the_chart_renders_what_longshore_manifests_prints(case: str) -> None:
    words, wanted = CASES[case]
    found = {identity(obj): bare(obj) for obj in rendered(*words)}
    printed = [obj for obj in manifests.documents(wanted) if obj["kind"] != "Namespace"]
    assert found == {identity(obj): bare(obj) for obj in printed}


def test_a_release_of_another_name_has_webhooks_of_its_own() -> None:
    words = ("--set", "webhooks.enabled=true,webhooks.failurePolicy=Ignore,webhooks.timeoutSeconds=3")
    objects = rendered(*words, release="batch")
    assert not [obj for obj in objects if "longshore-webhooks" in str(obj)]
    (deployment,) = [obj for obj in objects if obj["kind"] == "Deployment"]
    command = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[-5:] == ["--webhooks", "--webhooks-name", "batch-webhooks", "--lease", "batch-controllers"]
    webhooks = [webhook for obj in objects for webhook in obj.get("webhooks", ())]
    assert {(w["failurePolicy"], w["timeoutSeconds"]) for w in webhooks} == {("Ignore", 3)}


def test_volcanos_definitions_come_when_asked_for_and_stay_when_the_release_goes() -> None:
    plain = rendered()
    more = [obj for obj in rendered("--set", "definitions.enabled=true") if obj not in plain]
    policies = {obj["metadata"].pop("annotations")["helm.sh/resource-policy"] for obj in more}
    assert policies == {"keep"}
    assert more == manifests.definition_documents()


def test_alerts_monitor_and_dashboard_come_when_asked_for() -> None:
    words = ["--set", "prometheusRule.enabled=true,podMonitor.enabled=true,dashboard.enabled=true"]
    more = {identity(obj)[0] for obj in rendered(*words)} - {identity(obj)[0] for obj in rendered()}
    assert more == {"PrometheusRule", "PodMonitor", "ConfigMap"}


def test_values_that_mean_nothing_are_refused() -> None:
    with pytest.raises(AssertionError, match="shardBy"):
        rendered("--set", "shardBy=color")


@pytest.fixture
def longshore() -> Iterator[RunningLongshore]:
    with longshore_up("--in-memory", "--controllers", "garbage,namespace,serviceaccount") as running:
        yield running


def test_the_chart_is_installed_upgraded_rolled_back_and_removed(
    longshore: RunningLongshore, tmp_path: Path
) -> None:
    def run(*words: str) -> str:
        # longshore serves no Deployments; their pods are checked below.
        return helm(
            *words,
            *("--kubeconfig", str(longshore.kubeconfig), "--namespace", "longshore-system"),
            HOME=str(tmp_path),
        )

    def rules() -> list[Obj]:
        path = "/apis/rbac.authorization.k8s.io/v1/namespaces/longshore-system/roles/longshore-controllers"
        code, role = longshore.request("GET", path)
        assert code == 200, role
        found: list[Obj] = role["rules"]
        return found

    plain = ("--set", "createDeployments=false")
    run("install", "longshore", str(CHART), "--create-namespace", *plain)
    assert rules()[1]["resourceNames"] == ["longshore-controllers"]
    run("upgrade", "longshore", str(CHART), *plain, "--set", "shards=4,scheduler.enabled=true")
    assert "list" in rules()[0]["verbs"]
    code, _ = longshore.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/longshore-scheduler")
    assert code == 200
    run("rollback", "longshore", "1")
    assert rules()[1]["resourceNames"] == ["longshore-controllers"]
    code, _ = longshore.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/longshore-scheduler")
    assert code == 404
    (deployment,) = [obj for obj in rendered("--set", "shards=4") if obj["kind"] == "Deployment"]
    template = deployment["spec"]["template"]
    pod = {"metadata": {"name": "p", **template["metadata"]}, "spec": template["spec"]}
    code, answer = longshore.request("POST", "/api/v1/namespaces/longshore-system/pods", pod)
    assert code == 201, answer
    run("uninstall", "longshore")
    code, found = longshore.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")
    assert not [role for role in found["items"] if role["metadata"]["name"].startswith("longshore-")]
    code, found = longshore.request("GET", "/api/v1/namespaces/longshore-system/secrets")
    assert not [secret for secret in found["items"] if secret["type"] == "helm.sh/release.v1"]


def kustomized(folder: Path) -> list[Obj]:
    kubectl = ROOT / ".tools" / "kubectl"
    built = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return [*yaml.safe_load_all(built.stdout)]


def test_kubectl_builds_the_base_of_kustomize() -> None:
    assert "Deployment" in {obj["kind"] for obj in kustomized(DEPLOY / "kustomize")}


def test_the_component_of_webhooks_adds_what_longshore_manifests_adds(tmp_path: Path) -> None:
    kustomize = tmp_path / "kustomize"
    shutil.copytree(DEPLOY / "kustomize", kustomize)
    (tmp_path / "kustomization.yaml").write_text("resources: [kustomize]\ncomponents: [kustomize/webhooks]\n")
    found = {identity(obj): obj for obj in kustomized(tmp_path)}
    printed = manifests.documents(WantedInstallation(webhooks=True))
    assert found == {identity(obj): obj for obj in printed}
