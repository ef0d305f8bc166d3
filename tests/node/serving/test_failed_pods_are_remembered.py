"""What failed pods leave behind: records and logs, up to a size, the oldest gone first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longshore.api.retention import Retention
from longshore.node.archive import Archive
from longshore.up import own_pages


def pod(name: str, code: int = 1, *, job: str = "j", phase: str = "Failed", **metadata: Any) -> Any:
    ended = {"exitCode": code, "reason": "Error", "containerID": "process://x"}
    status = {"name": "main", "restartCount": 0, "state": {"terminated": ended}}
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-11-16T00:00:00Z",
            "annotations": {"batch.kubernetes.io/job-completion-index": "7"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "u"}],
            **metadata,
        },
        "spec": {"nodeName": "here"},
        "status": {"phase": phase, "containerStatuses": [status]},
    }


def logs(tmp_path: Path, name: str, *texts: str) -> Path:
    directory = tmp_path / "logs" / name
    (directory / "main").mkdir(parents=True)
    lines = "".join(f"2026-11-16T00:00:00.000000000Z stdout F {text}\n" for text in texts)
    (directory / "main" / "0.log").write_text(lines)
    return directory


def names(archive: Archive, **which: str) -> list[str]:
    return [record["name"] for record in archive.of("ns", **which)]


def test_a_failed_pod_leaves_its_record_and_log(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    directory = logs(tmp_path, "a", "oh", "no")
    assert archive.keep(pod("a", 3), directory, 1_800_000_000.0)
    assert not directory.exists()
    page = own_pages.failed_page(archive)
    found: Any = page("namespaces/ns/jobs/j")
    (record,) = found["items"]
    assert record["index"] == 7
    assert record["containers"][0]["ended"]["exitCode"] == 3
    assert record["archived"] == "2027-01-15T08:00:00Z"
    shown = page(f"logs/{record['uid']}/main/0")
    assert shown == {"kind": "Log", "text": "oh\nno\n"}
    assert page("namespaces/ns/jobs/other") == {"kind": "FailedPods", "items": []}
    assert page(f"logs/{record['uid']}/../0") is None
    assert page("logs/none/main/0") is None


@pytest.mark.parametrize(
    ("gone", "kept"),
    [
        (pod("a", 0, phase="Succeeded"), False),
        (pod("a", 143, deletionTimestamp="2026-11-16T00:00:00Z"), False),
        (pod("a", 1, deletionTimestamp="2026-11-16T00:00:00Z"), True),
        (pod("a", 143), True),
        (pod("a", 0), True),  # it failed as a whole: evicted, past its deadline
    ],
)
def test_only_pods_that_failed_are_kept(tmp_path: Path, gone: Any, kept: bool) -> None:
    assert Archive(tmp_path / "archive").keep(gone, tmp_path / "none", 1.0) is kept


def test_a_pod_that_failed_before_and_was_stopped_while_it_tried_again_is_kept(tmp_path: Path) -> None:
    gone = pod("a", 137, phase="Running", deletionTimestamp="2026-11-16T00:00:00Z")
    gone["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 1}}
    assert Archive(tmp_path / "archive").keep(gone, tmp_path / "none", 1.0)


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive", Retention(archive_pods=3))
    for number in range(5):
        archive.keep(pod(f"p{number}"), tmp_path / "none", 1000.0 + number)
    assert names(archive) == ["p2", "p3", "p4"]
    assert len(list((tmp_path / "archive").iterdir())) == 3


def test_the_last_of_each_job_goes_last(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive", Retention(archive_pods=4))
    archive.keep(pod("old", job="other"), tmp_path / "none", 999.0)
    archive.keep(pod("alone", ownerReferences=[]), tmp_path / "none", 999.5)
    for number in range(5):
        archive.keep(pod(f"p{number}"), tmp_path / "none", 1000.0 + number)
    assert names(archive) == ["old", "p2", "p3", "p4"]
    again = Archive(tmp_path / "archive", Retention(archive_pods=4))
    again.keep(pod("p5"), tmp_path / "none", 1005.0)
    assert names(again) == ["old", "p3", "p4", "p5"]
    for number in range(6):  # when all are the last of their Jobs, the oldest goes
        again.keep(pod(f"q{number}", job=f"q{number}"), tmp_path / "none", 1006.0 + number)
    assert names(again) == ["q2", "q3", "q4", "q5"]
    assert len(list((tmp_path / "archive").iterdir())) == 4


def test_the_oldest_go_when_they_are_too_large(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive", Retention(archive=5000))
    for number in range(5):
        archive.keep(pod(f"p{number}"), logs(tmp_path, f"p{number}", "x" * 1000), 1000.0 + number)
    assert names(archive) == ["p2", "p3", "p4"]


def test_they_are_remembered_after_a_restart(tmp_path: Path) -> None:
    first = Archive(tmp_path / "archive")
    first.keep(pod("a"), logs(tmp_path, "a", "text"), 1.0)
    first.keep(pod("b", job="k"), tmp_path / "none", 2.0)
    (tmp_path / "archive" / "0000000000003_ns_half_uid").mkdir()
    again = Archive(tmp_path / "archive", Retention(archive_pods=2))
    assert names(again) == ["a", "b"]
    assert names(again, kind="Job", name="k") == ["b"]
    assert names(again, kind="Pod", name="a") == ["a"]
    again.keep(pod("c"), tmp_path / "none", 3.0)
    assert names(again) == ["b", "c"]
    assert not again.keep(pod("c"), tmp_path / "none", 4.0)
