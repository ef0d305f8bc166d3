"""`longshore why`: reasons of a running longshore, for those who may read them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from longshore.cli.main import main
from support.longshore_command import Command
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
    end = time.monotonic() + 60
    while "managedBy" not in spec and not longshore.made("GET", f"{JOBS}/{name}").get("status"):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_it_tells_the_story_with_times(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str]
) -> None:
    create(longshore, "j", completions=3, parallelism=2)
    assert main(["why", "job/j"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d  created 2 pods: 2 of 3 completions wanted at a time", shown[0])
    assert shown[1] == "now       0 of 3 succeeded, 2 active"
    assert main(["why", "job", "j", "-n", "default"]) == 0
    assert "created 2 pods" in capsys.readouterr().out


def test_the_story_is_also_a_document(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str]
) -> None:
    create(longshore, "d")
    assert main(["why", "job/d", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["about"]["name"], told["about"]["gone"]) == ("Explanation", "d", False)
    assert told["story"][0]["code"] == "PodsCreated"


def test_watch_goes_on_until_the_object_is_gone(longshore: RunningLongshore, tmp_path: Path) -> None:
    create(longshore, "w")
    words = ("why", "job/w", "--watch", "--kubeconfig", str(longshore.kubeconfig))
    with Command(tmp_path).start(*words) as watching:
        assert watching.stdout is not None
        assert "created 1 pod" in watching.stdout.readline()
        longshore.made("DELETE", f"{JOBS}/w", query={"propagationPolicy": "Background"})
        assert "deleted the Job" in watching.stdout.readline()
        assert watching.stdout.readline() == "next      nothing: the Job is gone\n"
        assert watching.wait(10) == 0


def test_an_earlier_job_of_the_name_and_one_that_is_gone_are_told_apart(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str]
) -> None:
    create(longshore, "twice", suspend=True)
    longshore.made("DELETE", f"{JOBS}/twice", query={"propagationPolicy": "Background"})
    assert main(["why", "job/twice"]) == 0
    assert "nothing: the Job is gone\n" in capsys.readouterr().out
    create(longshore, "twice")
    assert main(["why", "jobs.batch/twice"]) == 0
    assert "(an earlier Job of this name, which longshore-admin deleted)\n" in capsys.readouterr().out


def test_namespaces_and_pods_that_were_collected_are_explained_too(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str]
) -> None:
    longshore.made("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    create(longshore, "parent")
    pods = "/api/v1/namespaces/default/pods"
    (pod,) = longshore.made("GET", pods, query={"labelSelector": "job-name=parent"})["items"]
    longshore.made("DELETE", f"{JOBS}/parent", query={"propagationPolicy": "Background"})
    for what, words in (
        ("ns/team", "created the service account default"),
        (f"pod/{pod['metadata']['name']}", "the garbage collector deleted it: its owner Job parent"),
    ):
        end = time.monotonic() + 60
        shown = ""
        while words not in shown and time.monotonic() < end:
            main(["why", what])
            shown = capsys.readouterr().out
            time.sleep(0.02)
        assert words in shown


@pytest.mark.parametrize("words", [("job/s1", "job.batch/s2"), ("job", "s1", "s2")])
def test_several_stories_are_each_under_their_name(
    longshore: RunningLongshore, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("s1", "s2"):
        longshore.request("POST", JOBS, {"metadata": {"name": name}, "spec": {"template": TEMPLATE}})
    assert main(["why", *words]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line.startswith("==>")] == ["==> job/s1 <==", "==> job/s2 <=="]
    assert main(["why", *words, "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["about"]["name"] for one in told["items"]] == ["s1", "s2"]
    assert main(["why", *words, "--watch"]) == 2
    assert "--watch follows one object" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("what", "code", "message"),
    [
        ("job/none", 1, 'jobs.batch "none" not found'),
        ("service/x", 2, "why knows no kind 'service': write KIND/NAME"),
        ("convert", 2, "why knows no kind 'convert': write KIND/NAME"),
        ("job/", 2, "which Job? Write job/NAME"),
        ("job", 2, "which Job? Write job/NAME"),
    ],
)
def test_what_it_cannot_tell_it_says(
    longshore: RunningLongshore, what: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", what]) == code
    assert capsys.readouterr().err.startswith(f"longshore: {message}")


def test_it_is_for_those_who_may_read_it(
    longshore: RunningLongshore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    account = "/api/v1/namespaces/kube-public/serviceaccounts"  # those of `default` may read its stories
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
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "kube-public"}],
    }
    longshore.made("POST", f"{rbac}/clusterrolebindings", binding)
    assert main(words) == 0
    assert "created 1 pod" in capsys.readouterr().out


def test_a_job_of_another_manager_is_left_to_it(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str]
) -> None:
    create(longshore, "theirs", managedBy="example.org/x")
    assert main(["why", "job/theirs"]) == 0
    assert "next      example.org/x decides: longshore leaves it alone" in capsys.readouterr().out


def test_without_reasons_the_story_is_told_from_the_objects(capsys: pytest.CaptureFixture[str]) -> None:
    with longshore_up("--in-memory", "--no-node", "--no-scheduler", "--controllers", "none") as bare:
        bare.made("POST", JOBS, {"metadata": {"name": "x"}, "spec": {"template": TEMPLATE}})
        assert main(["why", "job/x", "--kubeconfig", str(bare.kubeconfig)]) == 0
    assert capsys.readouterr().out.startswith("now       0 of 1 succeeded\n")
