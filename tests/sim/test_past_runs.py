"""Pods of a simulation go as those that really ran: `--outcomes-from`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.cli.main import main
from longshore.scripts import past_runs
from sim.worlds import DAY, cron_job, gang, job, played


def run(name: str, minutes: int, **more: Any) -> Obj:
    """A line of `longshore history -o json`."""
    ended = f"2026-01-01T{minutes // 60:02}:{minutes % 60:02}:00Z"
    line = {"kind": "job", "name": name, "begun": "2026-01-01T00:00:00Z", "ended": ended}
    return {**line, "result": "complete", "succeeded": 1, "failed": 0, "failure": "", **more}


def pod(job_name: str, seconds: int, code: int) -> Obj:
    end = {
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": f"2026-01-01T00:00:{seconds:02}Z",
        "exitCode": code,
    }
    labels = {"batch.kubernetes.io/job-name": job_name}
    status = {"containerStatuses": [{"name": "main", "state": {"terminated": end}}]}
    return {"metadata": {"name": "p", "labels": labels}, "spec": {}, "status": status}


def test_a_job_takes_as_long_as_in_the_history() -> None:
    found = played(job("report"), rules=past_runs.rules([run("report", 10)]))
    assert found.jobs[0].ended == pytest.approx(600)


def test_milliseconds_count() -> None:
    past = run("report", 10, begun="2026-01-01T00:00:00.900Z", ended="2026-01-01T00:00:01.100Z")
    assert played(job("report"), rules=past_runs.rules([past])).jobs[0].ended == pytest.approx(0.2, abs=0.1)
    (rule,) = past_runs.rules([past])
    assert repr(rule).count("0.2") == 1


def test_jobs_of_a_similar_name_are_not_meant() -> None:
    found = played(job("reporting"), rules=past_runs.rules([run("report", 10)]))
    assert found.jobs[0].ended == pytest.approx(60)


def test_runs_of_a_cronjob_count_for_its_next_runs() -> None:
    rules = past_runs.rules([run("nightly-29455020", 30)])
    found = played(cron_job("nightly", "0 2 * * *"), seconds=DAY, rules=rules)
    assert found.cron_jobs[0].longest == pytest.approx(1800)


def test_the_time_of_a_job_of_many_pods_is_shared_out() -> None:
    work = job("report", completions=4, parallelism=2)
    rules = past_runs.rules([run("report", 10, succeeded=4)], [work])
    assert played(work, rules=rules).jobs[0].ended == pytest.approx(600)


def test_failed_runs_fail_with_their_exit_code() -> None:
    past = run("report", 10, result="failed", succeeded=0, failed=1, failure="pod report-x: exit code 3")
    found = played(job("report", backoffLimit=0), rules=past_runs.rules([past]))
    assert found.jobs[0].result == "failed"
    assert found.bars[0].code == 3


def test_pods_of_any_cluster_go_as_they_went_by_exit_code() -> None:
    rules = past_runs.rules([pod("report", 5, 1)])
    found = played(job("report", backoffLimit=0), rules=rules)
    assert (found.bars[0].ended, found.bars[0].code) == (pytest.approx(5), 1)


def test_a_file_that_tells_of_nothing_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(json.dumps(job("x")))
    (tmp_path / "past.json").write_text('{"items": []}')
    asked = ["sim", str(tmp_path / "work.yaml"), "--outcomes-from", str(tmp_path / "past.json")]
    assert main(asked) == 2
    assert "no item tells of a pod or a Job that has ended" in capsys.readouterr().err


def test_pods_without_completions_ran_beside_each_other() -> None:
    work = job("report", parallelism=4)
    rules = past_runs.rules([run("report", 10, succeeded=4)], [work])
    assert played(work, rules=rules).jobs[0].ended == pytest.approx(600, abs=5)


def test_tasks_of_a_gang_ran_beside_each_other() -> None:
    work = gang("train", 4, "1")
    rules = past_runs.rules([run("train", 10, kind="vcjob", succeeded=4)], [work])
    assert played(work, rules=rules).jobs[0].ended == pytest.approx(600, abs=5)


def odd_pod(**end: Any) -> Obj:
    found = pod("report", 5, 0)
    found["status"]["containerStatuses"][0]["state"]["terminated"] |= end
    return found


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (3, "items[0]: 3 is neither a pod nor a run"),
        (None, "items[0]: None is neither a pod nor a run"),
        (run("report", 10, job=3), "items[0]: job: 3 is no text"),
        (run("report", 10, begun=3), "items[0]: begun: 3 is no text"),
        (run("report", 10, ended="noon"), "items[0]: parsing time"),
        (run("report", 10, ended="2025-01-01T00:00:00Z"), "is before begun ('2026-01-01T00:00:00Z')"),
        (run("report", 10, succeeded="x"), "items[0]: succeeded: 'x' is no number of pods"),
        (run("report", 10, succeeded=1e999), "items[0]: succeeded: inf is no number of pods"),
        (run("report", 10, failed=-1), "items[0]: failed: -1 is no number of pods"),
        (run("report", 10, failure=3), "items[0]: failure: 3 is no text"),
        ({"kind": "Pod", "metadata": 3}, "items[0]: metadata: 3 is no mapping"),
        ({"kind": "Pod", "metadata": {"labels": 3}}, "items[0]: labels: 3 is no mapping"),
        ({"kind": "Pod", "metadata": {"labels": {"job-name": 3}}}, "items[0]: job-name: 3 is no text"),
        ({"kind": "Pod", "status": "x"}, "items[0]: status: 'x' is no mapping"),
        ({"kind": "Pod", "status": {"containerStatuses": 3}}, "items[0]: containerStatuses: 3 is no list"),
        ({"kind": "Pod", "status": {"containerStatuses": [3]}}, "containerStatuses: [3] is no list of mapp"),
        (
            {"kind": "Pod", "status": {"containerStatuses": [{"state": 3}]}},
            "items[0]: state: 3 is no mapping",
        ),
        (odd_pod(startedAt=3), "items[0]: startedAt: 3 is no text"),
        (odd_pod(exitCode=None), "items[0]: exitCode: None is no exit code"),
        (odd_pod(exitCode="x"), "items[0]: exitCode: 'x' is no exit code"),
        (odd_pod(finishedAt="2025-01-01T00:00:00Z"), "is before startedAt"),
    ],
)
def test_odd_items_are_refused(
    item: Any, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "work.yaml").write_text(json.dumps(job("report")))
    (tmp_path / "past.json").write_text(json.dumps([item]))
    asked = ["sim", str(tmp_path / "work.yaml"), "--outcomes-from", str(tmp_path / "past.json")]
    assert main(asked) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("odd", ["x", [], 3, 1.5, True, -1])
def test_odd_manifests_are_left_to_the_api(odd: Any) -> None:
    objects = [
        job("a", parallelism=odd),
        job("b", completions=odd),
        {**job("c"), "spec": odd},
        cron_job("d", "0 5 * * *", jobTemplate=odd),
        cron_job("e", "0 5 * * *", jobTemplate={"spec": odd}),
        gang("f", 1, "1", tasks=odd),
        gang("g", 1, "1", tasks=[odd, {"replicas": odd}]),
    ]
    assert past_runs.rules([run("report", 10)], objects)


def test_a_code_that_no_process_has_counts_as_1() -> None:
    past = run("report", 10, result="failed", succeeded=0, failed=1, failure="exit code 99999999")
    found = played(job("report", backoffLimit=0), rules=past_runs.rules([past]))
    assert found.bars[0].code == 1
