"""What the server counts, in Prometheus' text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from longshore.apiserver.metrics import Metrics


def call(verb: str, name: str = "", namespace: str = "ns") -> Any:
    row = SimpleNamespace(group="batch", version="v1", plural="jobs")
    return SimpleNamespace(verb=verb, resource=row, subresource="", name=name, namespace=namespace)


def store() -> Any:
    counters = SimpleNamespace(commits=1, writes=2, bytes=3, failed_commits=0, compacted_rows=4)
    return SimpleNamespace(counters=counters, counts=lambda: {"batch/jobs": 7})


def test_requests_watches_objects_and_the_journal_are_counted_under_upstream_s_names() -> None:
    kept = store()
    metrics = Metrics(kept)
    metrics.finished(call("get", "j"), 200, 0.01)
    metrics.finished(call("get", "j"), 200, 0.9)
    metrics.finished(call("create"), 409, 0.01)
    metrics.watching(call("watch"), 1)
    metrics.watching(call("watch"), 1)
    metrics.watching(call("watch"), -1)
    kept.counters.writes = 20
    lines = set(metrics.text().decode().splitlines())
    where, here = 'group="batch",resource="jobs",', 'scope="namespace",subresource=""'
    got = f'{where}scope="resource",subresource="",verb="GET",version="v1"'
    assert {
        f'apiserver_request_total{{code="200",{got}}} 2.0',
        f'apiserver_request_total{{code="409",{where}{here},verb="CREATE",version="v1"}} 1.0',
        f"apiserver_request_duration_seconds_count{{{got}}} 2.0",
        f'apiserver_longrunning_requests{{{where}{here},verb="WATCH",version="v1"}} 1.0',
        'apiserver_storage_objects{resource="batch/jobs"} 7.0',
        "longshore_store_writes_total 20.0",
    } <= {_sorted(line) for line in lines}
    bucket = next(
        line for line in lines if "duration_seconds_bucket" in line and 'le="1"' in line and "GET" in line
    )
    assert bucket.endswith(" 2.0")


def _sorted(line: str) -> str:
    """The line with its labels by name."""
    head, brace, rest = line.partition("{")
    if not brace:
        return line
    labels, _, number = rest.rpartition("}")
    return f"{head}{{{','.join(sorted(labels.split(',')))}}}{number}"
