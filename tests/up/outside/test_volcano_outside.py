"""Volcano's controllers and scheduler as processes of their own, with the rights of the manifests alone."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.api.types import Obj
from longshore.cli.main import main
from longshore.up import manifests
from support import forked_longshore
from support.longshore_process import RunningLongshore, longshore_up
from support.places import RECORDED
from support.real_gangs import Jobs, task

CONTROLLERS = (
    "volcano-job",
    "volcano-cronjob",
    "volcano-gc",
    "volcano-jobflow",
    "volcano-podgroup",
    "volcano-queue",
)
KIT = RECORDED / "conformance-volcano/run.py"
PLAYED = ("basic-success", "plugin-svc", "queue-capability", "barepod-podgroup")
PLURALS = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Namespace": "namespaces",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "ServiceAccount": "serviceaccounts",
}


@pytest.fixture(scope="module")
def longshore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLongshore]:
    """An API server that knows Volcano's kinds and does nothing for them, and those who do, outside."""
    own = ("--no-node", "--no-scheduler", "--controllers", "garbage,namespace,serviceaccount")
    folder = tmp_path_factory.mktemp("outside")
    with longshore_up("--in-memory", *own) as running, contextlib.ExitStack() as stack:
        for obj in manifests.documents(manifests.WantedInstallation(controllers=CONTROLLERS, scheduler=True)):
            if obj["kind"] in PLURALS:
                install(running, obj)
        for name, words in {
            "controllers": ("--controllers", ",".join(CONTROLLERS)),
            "scheduler": ("--schedulers", "volcano"),
        }.items():
            config = as_account(running, f"longshore-{name}", folder / name)
            stack.enter_context(outside(name, "--kubeconfig", str(config), *words))
        yield running


def test_a_gang_runs_to_its_end(longshore: RunningLongshore) -> None:
    node = {"metadata": {"name": "far"}, "spec": {}}
    amounts = {"cpu": "4", "memory": "4Gi", "pods": "20"}
    longshore.made("POST", "/api/v1/nodes", node)
    path, merge = "/api/v1/nodes/far", "application/merge-patch+json"
    longshore.made("PATCH", path, {"spec": {"taints": None}}, content_type=merge)
    status = {"status": {"allocatable": amounts, "capacity": amounts}}
    longshore.made("PATCH", f"{path}/status", status, content_type=merge)
    jobs = Jobs(longshore)
    jobs.create("far", [task("w", "true", 3)], plugins={"svc": [], "ssh": []})
    end = time.monotonic() + 20
    while sum(bool(pod["spec"].get("nodeName")) for pod in jobs.pods("far").values()) < 3:
        assert time.monotonic() < end, jobs.get("far")
        time.sleep(0.05)
    for pod in jobs.pods("far").values():
        where = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/status"
        longshore.made("PATCH", where, {"status": {"phase": "Succeeded"}}, content_type=merge)
    assert jobs.ended("far")["state"]["phase"] == "Completed"
    longshore.made("DELETE", path)


def test_the_kit_finds_what_volcano_itself_does(longshore: RunningLongshore) -> None:
    only = [word for name in PLAYED for word in ("--only", name)]
    command = [sys.executable, str(KIT), "--kubeconfig", str(longshore.kubeconfig), *only]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(PLAYED)} passed, 0 failed" in done.stdout


def test_the_manifests_say_where_volcanos_definitions_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--controllers", "volcano-job", "--scheduler"]) == 0
    text = capsys.readouterr().out
    assert "longshore manifests --crds" in text
    objects = list(yaml.safe_load_all(text))
    commands = [o["spec"]["template"]["spec"]["containers"][0] for o in objects if o["kind"] == "Deployment"]
    assert [each["command"][1] for each in commands] == ["controllers", "scheduler"]
    assert main(["manifests"]) == 0
    assert "olcano" not in capsys.readouterr().out


@contextlib.contextmanager
def outside(*words: str) -> Iterator[None]:
    """Runs it once it is ready. Any right that it lacks makes it warn, and the test fail."""
    process = forked_longshore.popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert "ready" in process.stdout.readline()
        yield
    finally:
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert "cannot" not in said, said
    assert "Traceback" not in said, said


def install(longshore: RunningLongshore, obj: Obj) -> None:
    root = "/api/" if "/" not in obj["apiVersion"] else "/apis/"
    where = f"/namespaces/{obj['metadata']['namespace']}" if "namespace" in obj["metadata"] else ""
    longshore.made("POST", f"{root}{obj['apiVersion']}{where}/{PLURALS[obj['kind']]}", obj)


def as_account(longshore: RunningLongshore, account: str, into: Path) -> Path:
    """A kubeconfig with a token of the account in it."""
    path = f"/api/v1/namespaces/longshore-system/serviceaccounts/{account}/token"
    token = longshore.made("POST", path, {"spec": {}})["status"]["token"]
    config: Any = yaml.safe_load(longshore.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    config["contexts"][0]["context"]["namespace"] = "longshore-system"
    into.write_text(yaml.safe_dump(config))
    return into
