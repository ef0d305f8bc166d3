"""The controller at work on an API: ticks, ends, deletions, restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from controllers.cronjob.cron_world import CRONJOBS, JOBS, World, a_world
from longshore.api.types import Obj
from longshore.client import DeleteOptions, WatchEvent
from longshore.client.ask import Ask
from longshore.client.local import LocalClient
from longshore.client.source import Watching
from longshore.machinery.informers.heard_objects import Handler
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.faulty_client import unanswered
from longshore.testing.injected_faults import Fault, Faults, StruckClient
from longshore.testing.stories import beside

START = datetime(2026, 6, 15, 9, 0, 30, tzinfo=UTC)


def play(story: Callable[[World], Awaitable[None]], start: datetime = START) -> None:
    async def main(clock: VirtualClock) -> None:
        async with a_world(clock) as world:
            await story(world)

    virtual.run(main, start=start)


def test_a_healthy_cronjob_runs_every_minute_and_keeps_three() -> None:
    async def story(world: World) -> None:
        await world.cronjob("* * * * *", concurrencyPolicy="Forbid")
        async with world.running(), beside(world.ending(lambda job: 10.0)):
            await world.clock.sleep(300)
            assert await world.jobs() == [f"c-{29691900 + n}" for n in (3, 4, 5)]
            assert await world.status() == {
                "lastScheduleTime": "2026-06-15T09:05:00Z",
                "lastSuccessfulTime": "2026-06-15T09:05:10Z",
            }
            messages = await world.events()
            assert len([text for text in messages if text.startswith("Created job")]) == 5
            assert not await world.events("MissingJob")
            assert not await world.events("UnexpectedJob")
            assert not await world.events("FailedDelete")

    play(story)


def test_a_job_on_the_active_list_is_missed_though_another_has_its_name() -> None:
    """Else `Forbid` would wait for ever for a Job that was deleted."""

    async def story(world: World) -> None:
        await world.cronjob("@every 20s", concurrencyPolicy="Forbid")
        faults = Faults(world.clock)
        client = StruckClient(world.client, world.clock, faults)
        async with beside(world.controller(client).run()):
            await world.clock.sleep(41)  # the run of 09:00:20 still runs, that of 09:00:40 waits for it
            (name,) = await world.jobs()
            faults.add(Fault("PUT cronjobs/status", "controllers", unanswered, times=1))
            await world.client.delete(JOBS, name, "ns", DeleteOptions(propagation="Background"))
            await world.clock.sleep(10)
            assert await world.jobs() == [name]  # the run of 09:00:40, which no status knows
            async with beside(world.ending(lambda job: 5.0)):
                await world.clock.sleep(3600)
                assert len(await world.jobs()) > 1

    play(story, datetime(2026, 6, 15, 9, 0, 0, tzinfo=UTC))


def test_starts_come_a_tenth_of_a_second_after_the_scheduled_time_and_are_measured() -> None:
    async def story(world: World) -> None:
        await world.cronjob("* * * * *")
        async with world.running():
            await world.clock.sleep(29.9)
            assert await world.jobs() == []
            await world.clock.sleep(0.3)
            (job,) = (await world.client.list(JOBS, "ns")).items
            assert job["metadata"]["creationTimestamp"] == "2026-06-15T09:01:00Z"
        text = world.registry.text().decode()
        assert "cronjob_controller_job_creation_skew_duration_seconds_count 1.0" in text
        assert 'cronjob_controller_job_creation_skew_duration_seconds_bucket{le="512"} 1.0' in text
        assert 'workqueue_adds_total{name="cronjob"}' in text

    play(story)


def test_an_active_job_that_a_person_deletes_is_missed_and_the_next_run_goes_ahead() -> None:
    async def story(world: World) -> None:
        await world.cronjob("* * * * *", concurrencyPolicy="Forbid")
        async with world.running():
            await world.clock.sleep(40)
            (name,) = await world.jobs()
            await world.client.delete(JOBS, name, "ns", DeleteOptions(propagation="Background"))
            await world.clock.sleep(1)
            assert "active" not in await world.status()
            assert await world.events("MissingJob") == [f"Active job went missing: {name}"]
            await world.clock.sleep(60)
            assert await world.jobs() == ["c-29691902"]

    play(story)


def test_forbid_holds_back_while_one_runs_and_starts_late_when_it_ends() -> None:
    async def story(world: World) -> None:
        await world.cronjob("* * * * *", concurrencyPolicy="Forbid")
        async with world.running():
            await world.clock.sleep(160)
            assert await world.jobs() == ["c-29691901"]
            assert (await world.status())["lastScheduleTime"] == "2026-06-15T09:01:00Z"
            await world.end("c-29691901")
            await world.clock.sleep(1)
            assert await world.jobs() == ["c-29691901", "c-29691903"]

    play(story)


def test_replace_leaves_one() -> None:
    async def story(world: World) -> None:
        await world.cronjob("* * * * *", concurrencyPolicy="Replace")
        async with world.running():
            await world.clock.sleep(140)
            assert await world.jobs() == ["c-29691902"]
            assert [ref["name"] for ref in (await world.status())["active"]] == ["c-29691902"]
            assert await world.events("SuccessfulDelete") == ["Deleted job c-29691901"]
            assert not await world.events("UnexpectedJob")

    play(story)


def test_times_and_status_that_a_person_sends_along_at_creation_count_for_nothing() -> None:
    async def story(world: World) -> None:
        made = await world.client.create(
            CRONJOBS,
            {
                "metadata": {"name": "c", "creationTimestamp": "2026-03-08T00:00:00Z"},
                "spec": {
                    "schedule": "* * * * *",
                    "jobTemplate": {
                        "spec": {
                            "template": {
                                "spec": {
                                    "restartPolicy": "Never",
                                    "containers": [{"name": "c", "image": "i"}],
                                }
                            }
                        }
                    },
                },
                "status": {"lastScheduleTime": "2026-03-08T00:00:00Z"},
            },
            "ns",
        )
        assert "lastScheduleTime" not in made["status"]
        async with world.running():
            await world.clock.sleep(40)
            assert await world.jobs() == ["c-29691901"]

    play(story)


def test_jobs_of_other_namespaces_and_other_owners_are_none_of_its_business() -> None:
    async def story(world: World) -> None:
        cronjob = await world.cronjob("0 0 1 1 *", successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0)
        mine = {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "name": "c",
            "uid": cronjob["metadata"]["uid"],
            "controller": True,
        }
        spec = cronjob["spec"]["jobTemplate"]["spec"]
        for name, namespace, owner in (
            ("elsewhere", "other", mine),
            ("anothers", "ns", {**mine, "name": "d", "uid": "4711"}),
            ("mine", "ns", mine),
        ):
            meta = {"name": name, "ownerReferences": [owner], "labels": {"unlike": "the-template"}}
            await world.client.create(JOBS, {"metadata": meta, "spec": spec}, namespace)
        async with world.running():
            for name in ("anothers", "mine"):
                await world.end(name)
            await world.clock.sleep(5)
            assert await world.jobs() == ["anothers"]
            assert (await world.status())["lastSuccessfulTime"] == "2026-06-15T09:00:30Z"

    play(story)


def test_while_suspended_nothing_starts_and_afterwards_the_last_missed_time_does() -> None:
    async def story(world: World) -> None:
        await world.cronjob("* * * * *", suspend=True)
        async with world.running():
            await world.clock.sleep(600)
            assert await world.jobs() == []
            await world.change({"spec": {"suspend": False}})
            await world.clock.sleep(1)
            assert await world.jobs() == ["c-29691910"]

    play(story)


def test_the_reasons_of_the_last_plans_can_be_asked_for() -> None:
    async def story(world: World) -> None:
        await world.cronjob("*/30 * * * *")
        async with world.running():
            await world.clock.sleep(1800)
        told = [line for plan in world.explanations.of("ns", "c") for line in map(str, plan.why)]
        assert "nothing is due before 2026-06-15T09:30:00Z" in told
        assert "started the run of 2026-06-15T09:30:00Z: job c-29691930" in told

    play(story)


def test_nothing_is_left_in_memory_of_a_cronjob_that_is_gone() -> None:
    async def story(world: World) -> None:
        await world.cronjob("* * * * *", concurrencyPolicy="Replace")
        async with world.running() as controller:
            await world.clock.sleep(200)
            await world.client.delete(CRONJOBS, "c", "ns")
            await world.clock.sleep(200)
            memory = controller._memory
            assert (memory.untold, memory.going(("ns", "c")), memory.own_writes._written) == (
                set(),
                frozenset(),
                {},
            )

    play(story)


def test_a_job_made_by_hand_is_told_once_and_uses_up_no_events() -> None:
    async def story(world: World) -> None:
        await world.cronjob("* * * * *")
        cronjob = await world.client.get(CRONJOBS, "c", "ns")
        owner = {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "name": "c",
            "uid": cronjob["metadata"]["uid"],
            "controller": True,
        }
        spec = cronjob["spec"]["jobTemplate"]["spec"]
        by_hand = {"metadata": {"name": "by-hand", "ownerReferences": [owner]}, "spec": spec}
        await world.client.create(JOBS, by_hand, "ns")

        def ends(job: Obj) -> float | None:
            return None if job["metadata"]["name"] == "by-hand" else 10.0

        async with world.running(), beside(world.ending(ends)):
            await world.clock.sleep(480)
            listed = (await world.client.list(("v1", "Event"), "ns")).items
            (told,) = (event for event in listed if event["reason"] == "UnexpectedJob")
            assert told["count"] == 1
            assert len(await world.events("SuccessfulDelete")) == 5  # of eight that ran, three are kept

    play(story)


class Late(LocalClient):
    """Tells of changes of CronJobs a minute later."""

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        async with super()._events(ask) as events:
            yield Watching(self._delayed(events)) if ask.resource.plural == "cronjobs" else events

    async def _delayed(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            if event.type == "DELETED":
                await asyncio.sleep(60)
            yield event


def test_a_cronjob_that_is_gone_unseen_starts_no_run_again_and_again() -> None:
    """The garbage collector deletes each Job of it at once."""

    async def story(world: World) -> None:
        created: list[str] = []

        class Collecting(Handler):
            def on_add(self, obj: Obj, initial: bool) -> None:
                created.append(obj["metadata"]["name"])
                if len(created) > 3:
                    return
                at_once = DeleteOptions(propagation="Background")
                gone = world.client.delete(JOBS, obj["metadata"]["name"], "ns", at_once)
                collecting.append(asyncio.ensure_future(gone))

        collecting: list[asyncio.Future[Obj | None]] = []
        await world.cronjob("* * * * *")
        controller = world.controller(Late(world.api))
        async with beside(controller.run()), beside(world.hearing(Collecting())):
            await world.clock.sleep(10)
            await world.client.delete(CRONJOBS, "c", "ns")
            await world.clock.sleep(45)
            assert created == ["c-29691901"]

    play(story)
