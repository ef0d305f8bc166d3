"""`longshore scheduler` beside a server that schedules nothing itself; `longshore why` for pods."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from longshore import __version__
from longshore.cli.main import main
from support import forked_longshore
from support.longshore_process import RunningLongshore, longshore_up

PODS = "/api/v1/namespaces/default/pods"
AMOUNTS = {"cpu": "2", "memory": "1Gi", "pods": "10"}


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    words = "--in-memory", "--no-node", "--no-scheduler", "--controllers", "namespace,serviceaccount"
    with longshore_up(*words) as running:
        yield running


def until_bound(longshore: RunningLongshore, name: str) -> str:
    end = time.monotonic() + 15
    while True:
        node = longshore.made("GET", f"{PODS}/{name}")["spec"].get("nodeName")
        if node:
            return str(node)
        assert time.monotonic() < end, "the pod got no node"
        time.sleep(0.02)


def add_node(longshore: RunningLongshore) -> None:
    made = longshore.made(
        "POST", "/api/v1/nodes", {"metadata": {"name": "n1"}, "status": {"allocatable": AMOUNTS}}
    )
    made["spec"].pop("taints", None)
    longshore.made("PUT", "/api/v1/nodes/n1", made)


def test_it_works_beside_a_server_hands_the_lease_back_and_why_tells_by_its_events(
    longshore: RunningLongshore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--kubeconfig", str(longshore.kubeconfig), "--schedulers", "default-scheduler,volcano"
    process = forked_longshore.popen(["scheduler", *words], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == (
            f"longshore {__version__} scheduler is ready at {longshore.server}, "
            "for pods of: default-scheduler, volcano\n"
        )
        add_node(longshore)
        spec = {"containers": [{"name": "c", "image": "i"}]}
        longshore.made("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
        assert until_bound(longshore, "p") == "n1"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
    lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/longshore-scheduler"
    assert not longshore.made("GET", lease)["spec"].get("holderIdentity")
    monkeypatch.setenv("KUBECONFIG", str(longshore.kubeconfig))
    assert main(["why", "pod/p"]) == 0
    assert "placed: Successfully assigned default/p to n1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scheduler-actions", "enqueue,jump"], "there is no action 'jump'; there are: enqueue, allocate"),
        (["--schedulers", "mine"], "there is no scheduler 'mine'; there are: volcano, default-scheduler"),
    ],
)
def test_what_it_does_not_know_it_refuses(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scheduler", *words]) == 2
    assert said in capsys.readouterr().err
