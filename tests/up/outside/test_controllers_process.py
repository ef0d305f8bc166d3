"""`longshore controllers` as a person sees it: beside `longshore up`, one ready line, a clean end."""

from __future__ import annotations

import re
import select
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore import __version__
from longshore.up import manifests
from support import forked_longshore
from support.longshore_process import RunningLongshore, longshore_up

JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/longshore-controllers"
MANAGED_BY = "longshore.dev/job-controller"


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    with longshore_up("--in-memory", "--controllers", "namespace,serviceaccount") as running:
        yield running


class Controllers:
    def __init__(self, *words: str) -> None:
        self.process = forked_longshore.popen(
            ["controllers", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def line(self) -> str:
        """The ready line. Waits for it."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Exit code and the rest of both outputs."""
        self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=15)
        return self.process.returncode, out, errors


@contextmanager
def controllers(*words: str) -> Iterator[Controllers]:
    running = Controllers(*words)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
        running.process.communicate()


def until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return found


def a_job(name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def told(longshore: RunningLongshore, name: str) -> list[str]:
    """The lines of the Job's story in which one of the controllers speaks."""
    path = f"/apis/longshore.dev/v1/namespaces/default/explanations/job.{name}"
    return [line["words"] for line in longshore.made("GET", path)["story"] if "who" in line]


def as_account(longshore: RunningLongshore, into: Path) -> Path:
    """Installs what `longshore manifests` prints; a kubeconfig with a token of the account in it."""
    plural = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Role": "roles"}
    plural |= {"RoleBinding": "rolebindings", "Namespace": "namespaces", "ServiceAccount": "serviceaccounts"}
    plural |= {"PodDisruptionBudget": "poddisruptionbudgets"}
    for obj in yaml.safe_load_all(manifests.text(manifests.WantedInstallation())):
        if obj["kind"] == "Deployment":
            continue
        root = "/api/" if "/" not in obj["apiVersion"] else "/apis/"
        where = f"/namespaces/{obj['metadata']['namespace']}" if "namespace" in obj["metadata"] else ""
        longshore.made("POST", f"{root}{obj['apiVersion']}{where}/{plural[obj['kind']]}", obj)
    account = "/api/v1/namespaces/longshore-system/serviceaccounts/longshore-controllers/token"
    token = longshore.made("POST", account, {"spec": {}})["status"]["token"]
    config = yaml.safe_load(longshore.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    config["contexts"][0]["context"]["namespace"] = "longshore-system"
    into.write_text(yaml.safe_dump(config))
    return into


def test_a_job_runs_with_the_rights_of_the_manifests(longshore: RunningLongshore, tmp_path: Path) -> None:
    config = as_account(longshore, tmp_path / "config")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("--kubeconfig", str(config), "--metrics-port", str(port), "--keep-reasons")
    with controllers(*words) as running:
        assert running.line() == (
            f"longshore {__version__} controllers are ready at {longshore.server}: job, "
            f"for Jobs managed by {MANAGED_BY}\n"
        )
        longshore.made("POST", JOBS, a_job("ours", managedBy=MANAGED_BY, completions=2, parallelism=2))
        longshore.made("POST", JOBS, a_job("not-ours"))
        until(lambda: len(longshore.made("GET", PODS)["items"]) == 2)
        for pod in longshore.made("GET", PODS)["items"]:
            status = {"status": {"phase": "Succeeded"}}
            path = f"{PODS}/{pod['metadata']['name']}/status"
            longshore.made("PATCH", path, status, content_type="application/merge-patch+json")
        done = until(lambda: longshore.made("GET", f"{JOBS}/ours")["status"].get("completionTime"))
        assert done
        until(lambda: "the Job is complete: 2 of 2 succeeded" in told(longshore, "ours"))
        assert told(longshore, "ours")[0] == "created 2 pods: all 2 completions at once"
        assert not longshore.made("GET", f"{JOBS}/not-ours").get("status")
        lease = longshore.made("GET", LEASE.format("longshore-system"))
        assert re.fullmatch(r".+_[0-9a-f-]{36}", lease["spec"]["holderIdentity"])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            shown = answer.read().decode()
        assert re.search(r"^job_controller_jobs_finished_total\{.*\} 1\.0$", shown, re.M)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
            assert re.fullmatch(rb"\[\+\]lease: renewed \d s ago\nok", answer.read())
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=60) as answer:
            ready = answer.read().decode().splitlines()
        assert ready[1:] == ["[+]Job of batch/v1: followed", "[+]Pod of v1: followed", "ok"]
        code, out, errors = running.stop()
        assert (code, out, errors) == (0, "", "")
    lease = longshore.made("GET", LEASE.format("longshore-system"))
    assert not lease["spec"].get("holderIdentity")


def test_the_second_process_says_for_whom_it_waits_and_takes_over(longshore: RunningLongshore) -> None:
    words = ("--kubeconfig", str(longshore.kubeconfig))
    with controllers(*words) as one, controllers(*words, "--lease", "default/longshore-controllers") as two:
        processes = {one.process.stdout: one, two.process.stdout: two}
        holder = LEASE.format("default")

        def held() -> str:
            code, lease = longshore.request("GET", holder)
            return "" if code == 404 else str(lease["spec"].get("holderIdentity") or "")

        first = until(held)
        (ready,), _, _ = select.select(list(processes), [], [], 20)
        leader = processes.pop(ready)
        (waiter,) = processes.values()
        assert "controllers are ready" in leader.line()
        assert waiter.process.stderr is not None
        said = waiter.process.stderr.readline()
        assert (
            said == f"longshore: waiting for the lease default/longshore-controllers, which {first} holds\n"
        )
        assert leader.stop(signal.SIGINT)[0] == 0
        assert "controllers are ready" in waiter.line()
        assert held() not in ("", first)
        assert waiter.stop()[0] == 0


def test_credentials_that_are_not_accepted_are_an_error(longshore: RunningLongshore, tmp_path: Path) -> None:
    config = yaml.safe_load(longshore.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "wrong"}
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    with controllers("--kubeconfig", str(tmp_path / "config")) as running:
        out, errors = running.process.communicate(timeout=20)
    assert running.process.returncode == 1
    assert out == ""
    refused = "does not accept the credentials of this kubeconfig (401 Unauthorized)"
    assert errors == f"longshore: {longshore.server} {refused}\n"


def test_a_server_that_is_away_is_waited_for(longshore: RunningLongshore, tmp_path: Path) -> None:
    config = yaml.safe_load(longshore.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    with controllers("--kubeconfig", str(tmp_path / "config")) as running:
        assert running.process.stderr is not None
        assert "https://127.0.0.1:1: cannot connect" in running.process.stderr.readline()
        assert running.stop()[:2] == (0, "")


def test_a_taken_port_for_metrics_is_an_error(longshore: RunningLongshore) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with controllers("--kubeconfig", str(longshore.kubeconfig), "--metrics-port", port) as running:
            _, errors = running.process.communicate(timeout=20)
    assert running.process.returncode == 1
    assert errors.startswith("longshore: --metrics-port: ")
    assert "address already in use" in errors
