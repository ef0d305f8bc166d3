"""Code as a user writes it, which `mypy --strict` accepts, with the types that it gets."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, assert_type

from longshore.testing import Chance, Cluster, Exit, LogNormal, Run, WaitFailed


def by_name(pod: dict[str, Any]) -> Run:
    return Exit(1) if pod["metadata"]["name"].endswith("0") else Run("1m")


def test_report(longshore: Cluster) -> None:
    longshore.pods.script("worker-*", Exit(1, after="3s"), Run.oom(after=2), by_name, labels="app=x", index=3)
    longshore.pods.default(Chance((0.9, Exit(0)), (0.1, Run(LogNormal("5m", 0.5), 3))))
    assert_type(longshore.apply({"kind": "Job"}), dict[str, Any])
    assert_type(longshore.apply(Path("job.yaml")), list[dict[str, Any]])
    assert_type(longshore.get("job/x"), dict[str, Any])
    assert_type(longshore.list("pods"), list[dict[str, Any]])
    assert_type(longshore.wait("job/x", "Complete", timeout="10s"), dict[str, Any])
    assert_type(longshore.wait("job/x", lambda job: bool(job["status"])), dict[str, Any])
    assert_type(longshore.clock.advance("1h"), datetime)
    assert_type(longshore.kubeconfig, Path)
    assert_type(longshore.requests.of("POST")[0].code, int)
    fault = longshore.faults.conflict(times=1, on="PUT jobs/status", who="clients")
    assert_type(fault.happened, int)
    longshore.faults.unavailable(for_="5s")
    longshore.restore(longshore.snapshot())
    try:
        longshore.clock.until("job/x complete", at_most="1d")
    except WaitFailed as failed:
        assert_type(str(failed), str)


async def test_async() -> None:
    async with Cluster(clock="real", node="none", controllers=["job"], seed=3) as c:
        assert_type(c, Cluster)
