"""Stories of controllers outside, whose reasons are Events of the cluster they work for."""

from __future__ import annotations

import asyncio

import msgspec

from longshore.api import cron
from longshore.machinery.background import cancelled
from longshore.machinery.informers.informer import Informers
from longshore.machinery.records import Record
from longshore.node.runtime import Container
from longshore.plane import controllers
from longshore.plane.wiring import Wiring
from longshore.testing import Run, SeededKeys
from longshore.up.outside.outside_process import EventReasons
from longshore.why import kinds, reason_events
from why.why_stage import BIG, CRON_JOBS, JOBS, Script, Stage, a_job, play

EVENTS = ("v1", "Event")


def outside(script: Script) -> Script:
    """The script, with Job and CronJob controllers of another process beside it."""

    async def whole(stage: Stage) -> None:
        client, clock, rng = stage.client, stage.clock, stage.clock.rng
        names = ("job", "cronjob")
        reasons = EventReasons(client, clock, rng)
        informers = Informers(client, clock=clock, rng=rng, reads=controllers.reads_of(names))
        wiring = Wiring(clock, rng, informers, zone=cron.UTC, keys=SeededKeys(rng), reasons=reasons)
        tasks = [*controllers.start(names, client, wiring), asyncio.create_task(reasons.run())]
        try:
            await script(stage)
        finally:
            await cancelled(tasks)

    return whole


def test_a_job_with_an_index_that_fails() -> None:
    def runs(container: Container) -> Run:
        return Run(seconds=5.0, code=7 if "-1-" in container.pod else 0)

    async def script(stage: Stage) -> None:
        job = a_job(completionMode="Indexed", completions=3, parallelism=2, backoffLimitPerIndex=1)
        await stage.create(JOBS, job)
        await stage.sleep(40)
        await stage.tells(
            "job/x",
            """
            09:00:00  created 2 pods (indexes 0, 1): 2 of 3 completions wanted at a time
            09:00:05  index 1 failed: exit code 7 in container main
                      backoffLimitPerIndex is 1
            09:00:05  index 1 will be retried at 09:00:15 (first failure, 10 s)
            09:00:05  created 1 more pod (index 2), as others ended
            09:00:15  index 1 started again
            09:00:20  index 1 failed again: exit code 7; its retries are used up, so the index has failed
            09:00:20  the Job failed: FailedIndexes, 1 of 3; 2 succeeded
            next      nothing: the Job has ended. See its logs: longshore logs --failed job/x; run it again: longshore retry job/x
            """,
        )

    play(outside(script), runs, capacity=BIG, controllers=("garbage",))


def test_a_cronjob_that_waits() -> None:
    async def script(stage: Stage) -> None:
        template = {"spec": a_job()["spec"]}
        spec = {"schedule": "*/5 * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": template}
        await stage.create(CRON_JOBS, {"metadata": {"name": "n"}, "spec": spec})
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

    play(outside(script), lambda container: Run(seconds=420.0), controllers=("garbage",))


def test_the_story_of_a_job_is_not_that_of_a_gang_of_its_name() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job())
        await stage.sleep(10)
        assert "created 1 pod" in await stage.why("job/x")
        gang = kinds.KINDS["vcjob"].explanation("default", "x")
        assert (await stage.client.request("GET", gang)).code == 404

    play(outside(script), controllers=("garbage",))


def test_people_see_the_reasons_among_the_events() -> None:
    async def script(stage: Stage) -> None:
        await stage.create(JOBS, a_job(backoffLimit=0))
        await stage.sleep(10)
        events = (await stage.client.list(EVENTS, "default")).items
        ours = [event for event in events if event["reportingComponent"] == reason_events.COMPONENT]
        assert [(event["type"], event["reason"]) for event in ours] == [
            ("Normal", "PodsCreated"),
            ("Warning", "PodFailed"),
            ("Normal", "BackoffLimitExceeded"),
            ("Warning", "Failed"),
        ]

    play(outside(script), lambda container: Run(seconds=2.0, code=1), controllers=("garbage",))


def test_more_reasons_than_a_cluster_can_bear_are_dropped() -> None:
    async def script(stage: Stage) -> None:
        reasons = EventReasons(stage.client, stage.clock, stage.clock.rng)
        for number in range(150):
            reasons.note(Record(1.0, "job", "default", f"j{number}", "u", "Job controller", "Code", "words"))
        assert reasons.dropped == 50
        writing = asyncio.create_task(reasons.run())
        await stage.sleep(0.5)
        assert len((await stage.client.list(EVENTS, "default")).items) == 50
        await stage.sleep(1)
        assert len((await stage.client.list(EVENTS, "default")).items) == 100
        await cancelled([writing])

    play(script, node=False, controllers=(), scheduler=False)


def test_an_event_keeps_all_of_a_record() -> None:
    record = Record(
        1.25, "job", "ns", "x", "u", "Job controller", "PodFailed", "index 2 failed", {"index": 2}
    )
    event = reason_events.event_of(record, "e")
    assert reason_events.record_of(event, kinds.KINDS["job"]) == record
    assert reason_events.record_of({"metadata": {}, "reason": "Completed"}, kinds.KINDS["job"]) is None
    event["metadata"]["annotations"] = dict.fromkeys(event["metadata"]["annotations"], "{")
    assert reason_events.record_of(event, kinds.KINDS["job"]) is None


def test_queues_keep_theirs_in_the_default_namespace() -> None:
    record = Record(1.0, "queue", "", "q", "u", "queue controller", "Settled", "is Open now")
    event = reason_events.event_of(record, "e")
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]
    assert msgspec.json.encode(event)
