"""`longshore why` of a gang that waits says in numbers for what, at the gate and after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from longshore.cli.main import main
from support.longshore_process import longshore_up
from support.real_gangs import Jobs, task

pytestmark = pytest.mark.xdist_group("volcano-real")


@pytest.fixture(scope="module")
def jobs() -> Iterator[Jobs]:
    """On a machine with 7 processors to give."""
    with longshore_up("--in-memory", "--node-capacity", "cpu=7,memory=8Gi") as running:
        yield Jobs(running)


@pytest.fixture
def why(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, str], str]:
    """What is said of an object, once this is among it."""
    monkeypatch.setenv("KUBECONFIG", str(jobs.longshore.kubeconfig))

    def said(what: str, wanted: str) -> str:
        end = time.monotonic() + 20
        while True:
            main(["why", what])
            text = capsys.readouterr().out
            if wanted in text:
                return text
            assert time.monotonic() < end, text
            time.sleep(0.1)

    return said


def test_a_gang_beyond_its_queue_is_told_what_queue_and_nodes_have(
    jobs: Jobs, why: Callable[[str, str], str]
) -> None:
    queue: dict[str, Any] = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "gpu"},
    }
    queue["spec"] = {"weight": 1, "capability": {"cpu": "6"}}
    jobs.longshore.made("POST", "/apis/scheduling.volcano.sh/v1beta1/queues", queue)
    jobs.create("big", [asking("w", "2", 8)], queue="gpu")
    numbers = "needs 8 × 2 cpu, queue gpu has 6 cpu left, 1 node fits 3"
    text = why("vcjob/big", numbers)
    name = f"big-{jobs.get('big')['metadata']['uid']}"
    assert f"longshore why podgroup/{name}" in text
    assert numbers in why(f"podgroup/{name}", numbers)
    why("queue/gpu", "the queue is Open, weight 1")


def test_a_gang_of_unlike_tasks_is_told_its_sum(jobs: Jobs, why: Callable[[str, str], str]) -> None:
    jobs.create("mixed", [asking("a", "1", 1), asking("b", "7", 1)])
    why("vcjob/mixed", "needs 8 cpu for 2 pods, queue default has 7 cpu left")


def test_a_gang_that_no_node_suits_is_told_so(jobs: Jobs, why: Callable[[str, str], str]) -> None:
    picky = asking("w", "1", 2)
    picky["template"]["spec"]["nodeSelector"] = {"gpu": "yes"}
    jobs.create("picky", [picky])
    text = why("vcjob/picky", "needs 2 × 1 cpu, queue default has 7 cpu left, no node fits one")
    assert "1 node(s) didn't match Pod's node affinity/selector" in text


def asking(name: str, cpu: str, replicas: int) -> dict[str, Any]:
    made = task(name, "true", replicas)
    made["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return made
