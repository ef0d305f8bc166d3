"""`longshore why`: reasons of a running longshore, for those who may read them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from longshore.cli.main import main
from support.longshore_process import RunningLongshore, longshore_up

JOBS = "/apis/batch/v1/namespaces/default/jobs"
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    with longshore_up("--in-memory", "--no-node", "--no-scheduler") as running:
        yield running


@pytest.fixture(autouse=True)
def _use_it(longshore: RunningLongshore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(longshore.kubeconfig))


def create(longshore: RunningLongshore, name: str, **spec: object) -> None:
    longshore.made("POST", JOBS, {"metadata": {"name": name}, "spec": {"template": TEMPLATE, **spec}})
    end = time.monotonic() + 10
    while "managedBy" not in spec and not longshore.made("GET", f"{JOBS}/{name}").get("status"):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_it_prints_the_reasons_of_the_last_plans(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str]
) -> None:
    create(longshore, "j", completions=3, parallelism=2)
    assert main(["why", "job/j"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", shown[0])
    assert shown[1] == "  creates 2 pods"
    assert main(["why", "job", "j", "-n", "default"]) == 0
    assert "  creates 2 pods\n" in capsys.readouterr().out


def test_an_earlier_job_of_the_name_and_one_that_is_gone_are_told_apart(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str]
) -> None:
    create(longshore, "twice", suspend=True)
    longshore.made("DELETE", f"{JOBS}/twice", query={"propagationPolicy": "Background"})
    assert main(["why", "job/twice"]) == 0
    assert ", for a Job that is gone\n" in capsys.readouterr().out
    create(longshore, "twice")
    assert main(["why", "jobs.batch/twice"]) == 0
    assert ", for an earlier Job of this name\n" in capsys.readouterr().out


def test_namespaces_and_pods_that_were_collected_are_explained_too(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str]
) -> None:
    longshore.made("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    create(longshore, "parent")
    pods = "/api/v1/namespaces/default/pods"
    (pod,) = longshore.made("GET", pods, query={"labelSelector": "job-name=parent"})["items"]
    longshore.made("DELETE", f"{JOBS}/parent", query={"propagationPolicy": "Background"})
    for what, words in (
        ("ns/team", "creates the service account default, which is not there"),
        (f"pod/{pod['metadata']['name']}", "its owner Job parent does not exist"),
    ):
        end = time.monotonic() + 10
        shown = ""
        while words not in shown and time.monotonic() < end:
            main(["why", what])
            shown = capsys.readouterr().out
            time.sleep(0.02)
        assert words in shown


@pytest.mark.parametrize(
    ("what", "code", "message"),
    [
        ("job/none", 1, 'jobs.batch "none" not found'),
        ("job/theirs", 1, "Job 'theirs' is managed by example.org/x: longshore leaves it alone"),
        ("service/x", 2, "'service/x' is"),
        ("job/", 2, "'job/' is"),
    ],
)
def test_what_it_cannot_tell_it_says(
    longshore: RunningLongshore, what: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if what == "job/theirs":
        create(longshore, "theirs", managedBy="example.org/x")
    assert main(["why", what]) == code
    assert capsys.readouterr().err.startswith(f"longshore: {message}")


def test_it_is_for_those_who_may_read_it(
    longshore: RunningLongshore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    account = "/api/v1/namespaces/default/serviceaccounts"
    longshore.made("POST", account, {"metadata": {"name": "reader"}})
    token = longshore.made("POST", f"{account}/reader/token", {"spec": {}})["status"]["token"]
    config = yaml.safe_load(longshore.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    create(longshore, "secretive")
    words = ["why", "job/secretive", "--kubeconfig", str(tmp_path / "config")]
    assert main(words) == 1
    assert 'cannot get resource "explanations" in API group "longshore.dev"' in capsys.readouterr().err
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    jobs = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}
    rules = [{"apiGroups": ["longshore.dev"], "resources": ["explanations"], "verbs": ["get"]}, jobs]
    longshore.made("POST", f"{rbac}/clusterroles", {"metadata": {"name": "why"}, "rules": rules})
    binding = {
        "metadata": {"name": "why"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "why"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    }
    longshore.made("POST", f"{rbac}/clusterrolebindings", binding)
    assert main(words) == 0
    assert "creates 1 pod" in capsys.readouterr().out


def test_a_server_without_the_controller_cannot_say(capsys: pytest.CaptureFixture[str]) -> None:
    with longshore_up("--in-memory", "--no-node", "--no-scheduler", "--controllers", "none") as bare:
        assert main(["why", "job/x", "--kubeconfig", str(bare.kubeconfig)]) == 1
    assert "only longshore up can say why" in capsys.readouterr().err
