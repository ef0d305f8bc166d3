"""Stories of CronJobs: which runs were started, which were skipped and why, and when the next one is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longshore.api.types import Obj
from longshore.testing import Run
from why.why_stage import CRON_JOBS, JOBS, Stage, a_job, play


def a_cronjob(schedule: str = "*/5 * * * *", **spec: Any) -> Obj:
    template = {"spec": a_job()["spec"]}
    return {"metadata": {"name": "n"}, "spec": {"schedule": schedule, "jobTemplate": template, **spec}}


def test_runs_that_succeed() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob())
        await stage.sleep(11 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:05:05  job n-29454305 has ended: Complete
            09:10:00  started the run of 09:10:00: job n-29454310
            09:10:05  job n-29454310 has ended: Complete
            now       the last run was that of 09:10:00
            next      the run of 09:15:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script)


def test_before_the_first_run() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob("0 3 * * *", timeZone="Europe/Berlin"))
        await stage.sleep(1)
        await stage.tells(
            "cronjob/n",
            """
            next      the run of 2026-01-02 02:00:00 (schedule "0 3 * * *" in Europe/Berlin)
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script)


def test_a_run_that_waits_for_the_one_before_it() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob(concurrencyPolicy="Forbid"))
        await stage.sleep(11 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:10:00  the run of 09:10:00 waits: concurrencyPolicy is Forbid and job n-29454305 is still running
            now       job/n-29454305 is running
                      the last run was that of 09:05:00
            next      the run that waits starts when job/n-29454305 ends (concurrencyPolicy Forbid)
                      the run of 09:15:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )
        await stage.sleep(3 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:10:00  the run of 09:10:00 waits: concurrencyPolicy is Forbid and job n-29454305 is still running
            09:12:00  job n-29454305 has ended: Complete
            09:12:00  started the run of 09:10:00: job n-29454310
            now       job/n-29454310 is running
                      the last run was that of 09:10:00
            next      the run of 09:15:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script, lambda container: Run(seconds=420.0))


def test_a_run_that_is_replaced_by_the_next() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob(concurrencyPolicy="Replace"))
        await stage.sleep(11 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:10:00  replaced job n-29454305, which was still running
            09:10:00  started the run of 09:10:00: job n-29454310
            now       job/n-29454310 is running
                      the last run was that of 09:10:00
            next      the run of 09:15:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script, lambda container: Run(seconds=420.0))


def test_runs_that_give_way_to_a_later_one_while_another_runs() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob(concurrencyPolicy="Forbid"))
        await stage.sleep(22 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:10:00  the run of 09:10:00 waits: concurrencyPolicy is Forbid and job n-29454305 is still running
            09:15:00  the run of 09:15:00 waits: concurrencyPolicy is Forbid and job n-29454305 is still running
                      since the last run it skipped 1 scheduled time: only the most recent missed time is started
            09:20:00  the run of 09:20:00 waits: concurrencyPolicy is Forbid and job n-29454305 is still running
                      since the last run it skipped 2 scheduled times: only the most recent missed time is started
            now       job/n-29454305 is running
                      the last run was that of 09:05:00
            next      the run that waits starts when job/n-29454305 ends (concurrencyPolicy Forbid)
                      the run of 09:25:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script, lambda container: Run(seconds=7200.0))


def test_a_run_that_fails() -> None:
    async def script(stage: Stage) -> None:
        job = a_job(backoffLimit=0)
        cronjob = a_cronjob()
        cronjob["spec"]["jobTemplate"] = {"spec": job["spec"]}
        await stage.create(CRON_JOBS, cronjob)
        await stage.sleep(6 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:05:03  job n-29454305 has ended: Failed
                      pod n-29454305-xxxxx failed: exit code 1 in container main
            now       the last run was that of 09:05:00
            next      the run of 09:10:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
                      about the last run that failed: longshore why job/n-29454305
            """,
        )

    play(script, lambda container: Run(seconds=3.0, code=1))


def test_a_cronjob_that_is_suspended() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob(suspend=True))
        await stage.sleep(11 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:00:00  suspended: starts nothing
            next      nothing until it is resumed: longshore resume cronjob/n
            """,
        )

    play(script)


def test_runs_that_were_missed_while_it_was_suspended() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob(suspend=True))
        await stage.sleep(17 * 60)
        await stage.client.patch(CRON_JOBS, "n", {"spec": {"suspend": False}}, "default")
        await stage.sleep(60)
        await stage.tells(
            "cronjob/n",
            """
            09:00:00  suspended: starts nothing
            09:17:00  started the run of 09:15:00: job n-29454315
            09:17:00  skipped 2 scheduled times: only the most recent missed time is started
            09:17:05  job n-29454315 has ended: Complete
            now       the last run was that of 09:15:00
            next      the run of 09:20:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script)


def test_a_run_that_is_too_late_to_start() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob(suspend=True, startingDeadlineSeconds=60))
        await stage.sleep(13 * 60)
        await stage.client.patch(CRON_JOBS, "n", {"spec": {"suspend": False}}, "default")
        await stage.sleep(60)
        await stage.tells(
            "cronjob/n",
            """
            09:00:00  suspended: starts nothing
            09:13:00  skipped 2 scheduled times: older than startingDeadlineSeconds (60)
            next      the run of 09:15:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script)


def test_old_jobs_that_are_deleted() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob(successfulJobsHistoryLimit=1))
        await stage.sleep(11 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:05:05  job n-29454305 has ended: Complete
            09:10:00  started the run of 09:10:00: job n-29454310
            09:10:05  deleted job n-29454305: it is beyond the history limits
            09:10:05  job n-29454310 has ended: Complete
            now       the last run was that of 09:10:00
            next      the run of 09:15:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script)


def test_a_job_of_a_cronjob_that_is_deleted_with_it() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob())
        await stage.sleep(6 * 60)
        (job,) = (await stage.client.list(JOBS, "default")).items
        await stage.alice.delete(CRON_JOBS, "n", "default")
        await stage.sleep(60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:05:05  job n-29454305 has ended: Complete
            09:06:00  alice deleted the CronJob with kubectl
            next      nothing: the CronJob is gone
            """,
        )
        await stage.tells(
            f"job/{job['metadata']['name']}",
            """
            09:05:00  created 1 pod
            09:05:05  the Job is complete: 1 succeeded
            09:06:00  the garbage collector deleted it: its owner CronJob n does not exist
            next      nothing: the Job is gone
            """,
        )

    play(script)


def test_a_schedule_that_never_fires() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, a_cronjob("0 0 31 2 *"))
        await stage.sleep(1)
        await stage.tells(
            "cronjob/n",
            """
            09:00:00  schedule 0 0 31 2 * never fires
            next      nothing: its schedule "0 0 31 2 *" never fires
            """,
        )

    play(script)


def failing() -> Obj:
    cronjob = a_cronjob()
    cronjob["spec"]["jobTemplate"] = {"spec": a_job(backoffLimit=0)["spec"]}
    return cronjob


def test_failed_runs_tell_exit_codes_and_last_words(tmp_path: Path) -> None:
    async def script(stage: Stage) -> None:
        await stage.create(CRON_JOBS, failing())
        await stage.sleep(11 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  started the run of 09:05:00: job n-29454305
            09:05:03  job n-29454305 has ended: Failed
                      pod n-29454305-xxxxx failed: exit code 3 in container main, "disk is full"
            09:10:00  started the run of 09:10:00: job n-29454310
            09:10:03  deleted job n-29454305: it is beyond the history limits
            09:10:03  job n-29454310 has ended: Failed
                      pod n-29454310-xxxxx failed: exit code 3 in container main, "disk is full"
            now       the last run was that of 09:10:00
            next      the run of 09:15:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
                      about the last run that failed: longshore why job/n-29454310
            """,
        )

    play(script, lambda container: Run(seconds=3.0, code=3, message="disk is full"), root=tmp_path)


def test_a_run_that_somebody_started_and_that_failed(tmp_path: Path) -> None:
    async def script(stage: Stage) -> None:
        cronjob = await stage.create(CRON_JOBS, failing())
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "n", "uid": cronjob["metadata"]["uid"]}
        by_hand = a_job("by-hand", backoffLimit=0)
        by_hand["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        await stage.create(JOBS, by_hand)
        await stage.sleep(60)
        told = await stage.why("cronjob/n")
        assert "09:00:03  job by-hand has ended: Failed\n          pod by-hand-" in told
        assert told.endswith("about the last run that failed: longshore why job/by-hand")

    play(script, lambda container: Run(seconds=3.0, code=3, message="disk is full"), root=tmp_path)


def test_a_run_that_is_active_and_does_not_run() -> None:
    async def script(stage: Stage) -> None:
        large = a_job(container={"resources": {"requests": {"cpu": "40"}}})
        template = {"jobTemplate": {"spec": large["spec"]}}
        await stage.create(CRON_JOBS, {**a_cronjob(), "spec": {**a_cronjob()["spec"], **template}})
        await stage.sleep(6 * 60)
        told = await stage.why("cronjob/n")
        assert "now       job/n-29454305 is active, and none of its pods is ready\n" in told
        assert told.endswith("about the run that is active: longshore why job/n-29454305")

    play(script)


def test_a_run_that_a_quota_forbids() -> None:
    async def script(stage: Stage) -> None:
        hard = {"hard": {"count/jobs.batch": "0"}}
        await stage.create(("v1", "ResourceQuota"), {"metadata": {"name": "few"}, "spec": hard})
        await stage.create(CRON_JOBS, a_cronjob())
        await stage.sleep(6 * 60)
        await stage.tells(
            "cronjob/n",
            """
            09:05:00  job n-29454305 could not be created: jobs.batch "n-29454305" is forbidden: exceeded quota: few, requested: count/jobs.batch=1, used: count/jobs.batch=0, limited: count/jobs.batch=0
            next      the run that is due starts when quota few has room: count/jobs.batch=1 is asked for, count/jobs.batch=0 is used, count/jobs.batch=0 is the limit; it is tried again, after longer and longer pauses
                      about the quota: longshore describe quota few
                      the run of 09:10:00 (schedule "*/5 * * * *")
                      run it now: longshore cron run n; the runs after that: longshore cron next n
            """,
        )

    play(script)
