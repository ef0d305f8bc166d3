"""What a run waits for, and what it is warned about: told at once, of this run alone, by its right name."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.longshore_command import Command

GANG = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "gang"},
    "spec": {
        "minAvailable": 4,
        "schedulerName": "volcano",
        "tasks": [
            {
                "name": "w",
                "replicas": 4,
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [
                            {
                                "name": "main",
                                "image": "host",
                                "command": ["true"],
                                "resources": {"requests": {"cpu": "1"}},
                            }
                        ],
                    }
                },
            }
        ],
    },
}


@pytest.fixture(scope="module")
def longshore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    command = Command(tmp_path_factory.mktemp("home"))
    with command.up("--node-capacity", "cpu=2"):
        yield command


def told(longshore: Command, *words: str, until: str) -> str:
    """What `longshore run` says up to a line with this text; it is ended then."""
    said = longshore.home / "said"
    with said.open("w") as file:
        process = longshore.start("run", *words, stderr=file)
        for _ in range(1000):
            if until in said.read_text() or process.poll() is not None:
                break
            time.sleep(0.02)
        process.terminate()
        process.communicate(timeout=20)
    assert until in said.read_text(), said.read_text()
    return said.read_text()


def test_a_pod_that_fits_nowhere_is_told_with_its_numbers(longshore: Command) -> None:
    text = told(longshore, "--cpu", "64", "--name", "big", "--", "true", until="waits: ")
    assert "job/big waits: needs 64 cpu, node " in text
    assert "has 2 of 2 left" in text


def test_a_gang_that_does_not_fit_is_told_with_its_numbers(longshore: Command) -> None:
    file = longshore.home / "gang.json"
    file.write_text(json.dumps(GANG))
    text = told(longshore, str(file), until="waits: ")
    assert "vcjob/gang waits: needs 4 × 1 cpu, queue default has 2 cpu left, 1 node fits 2" in text
    assert "vcjob/gang was stopped: 0/4 complete, 4 waiting; it is deleted" in text


def test_events_of_an_earlier_job_of_the_same_name_are_not_told(longshore: Command) -> None:
    told(longshore, "--cpu", "64", "--name", "again", "--", "true", until="waits: ")
    text = told(longshore, "--name", "again", "--replace", "--", "true", until="complete in")
    assert "waits" not in text
    assert "warning" not in text


def test_a_warning_is_called_a_warning(longshore: Command, tmp_path: Path) -> None:
    container = {"name": "main", "image": "host", "command": ["sleep", "1"]}
    spec = {
        "restartPolicy": "Never",
        "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "warned"}, "spec": spec}
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(pod))
    text = told(longshore, str(file), until="complete in")
    assert "pod/warned warning: NotSupported: appArmorProfile RuntimeDefault is not applied" in text
    assert "waits" not in text


def test_a_quota_that_is_used_up_is_told(longshore: Command) -> None:
    quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {pods: '0'}}}"
    space = "{apiVersion: v1, kind: Namespace, metadata: {name: full}}"
    longshore.ok("apply", "-f", "-", stdin=space)
    longshore.ok("apply", "-n", "full", "-f", "-", stdin=quota)
    text = told(longshore, "-n", "full", "--name", "x", "--", "true", until="waits: ")
    assert "job/x waits: FailedCreate: " in text
    assert "exceeded quota: none" in text
