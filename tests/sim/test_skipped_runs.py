"""Runs of CronJobs that a simulation tells as skipped, and their number."""

from __future__ import annotations

from sim.worlds import HOUR, cron_job, gang, played


def test_runs_of_a_cron_job_of_volcano_are_not_taken_for_skipped() -> None:
    work = cron_job("v", "0 * * * *")
    work |= {"apiVersion": "batch.volcano.sh/v1alpha1"}
    work["spec"]["jobTemplate"] = {"spec": gang("g", 1, "1")["spec"]}
    row = played(work, seconds=5 * HOUR, until_done=False).cron_jobs[0]
    assert (row.runs, row.skipped) == (5, [])


def test_all_skipped_runs_are_counted() -> None:
    found = played(cron_job("x", "* * * * *", suspend=True), seconds=5 * HOUR, until_done=False)
    assert found.cron_jobs[0].more_skipped == 200
    assert "200 more of its runs are skipped (cronjob/x)" in found.remarks
