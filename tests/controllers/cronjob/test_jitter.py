"""`longshore.dev/jitter`: the same delay at every start, a different one for each CronJob."""

from __future__ import annotations

import pytest

from controllers.cronjob.cron_scene import cronjob, sync
from controllers.cronjob.cron_world import JOBS, World
from controllers.cronjob.test_living_cronjobs import play
from longshore.controllers.cronjob import timing

JITTER = {"longshore.dev/jitter": "15m"}
DELAY = 66.669
"""Of `uid-of-backup`, in seconds."""


def delay(uid: str, jitter: str) -> float:
    state = cronjob(annotations={"longshore.dev/jitter": jitter}, meta={"uid": uid})
    return timing.jitter(state) / 1e9


def test_it_is_the_same_for_a_cronjob_for_ever_and_spread_evenly_over_many() -> None:
    assert delay("uid-of-backup", "15m") == pytest.approx(DELAY, abs=0.001)
    assert delay("uid-of-backup", "90s") == pytest.approx(DELAY / 10, abs=0.001)
    delays = [delay(f"uid-{n}", "90s") for n in range(2000)]
    assert min(delays) >= 0
    assert max(delays) < 90
    for third in range(3):
        assert 500 < len([d for d in delays if third * 30 <= d < third * 30 + 30]) < 850


def test_the_start_is_delayed_and_name_status_and_annotation_stay_those_of_the_scheduled_time() -> None:
    state = cronjob(annotations=JITTER)
    early = sync(state, "2026-06-15T09:01:06Z")
    assert early.names == []
    assert early.plan.look_again == pytest.approx(DELAY + 0.1 - 66, abs=0.001)
    found = sync(state, "2026-06-15T09:01:06.700Z")
    assert found.names == ["backup-29691900"]
    assert found.plan.status is not None
    assert found.plan.status["lastScheduleTime"] == "2026-06-15T09:00:00Z"
    assert found.created[0]["metadata"]["annotations"] == {
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-06-15T09:00:00Z"
    }


def test_a_deadline_counts_from_the_delayed_time() -> None:
    state = cronjob(annotations=JITTER, startingDeadlineSeconds=10)
    assert sync(state, "2026-06-15T09:01:07Z").names == ["backup-29691900"]
    assert sync(state, "2026-06-15T09:01:20Z").names == []


def test_longer_than_the_interval_it_still_runs_every_time_once() -> None:
    state = cronjob("* * * * *", annotations=JITTER, created="2026-06-15T08:59:30Z")
    started = []
    for second in range(0, 600, 5):
        now = f"2026-06-15T09:{second // 60:02d}:{second % 60:02d}Z"
        found = sync(state, now)
        if found.plan.status is not None:
            started += found.names
            state = {**state, "status": {"lastScheduleTime": found.plan.status["lastScheduleTime"]}}
    assert started == [f"backup-{29691900 + n}" for n in range(9)]


@pytest.mark.parametrize("text", ["90", "-5s", "soon", "", "1d"])
def test_nonsense_is_told_and_counts_as_none(text: str) -> None:
    state = cronjob(annotations={"longshore.dev/jitter": text})
    found = sync(state, "2026-06-15T09:00:01Z")
    assert found.names == ["backup-29691900"]
    assert found.warnings == ["InvalidJitter"]
    assert "must be a duration such as 90s or 5m" in found.plan.events[0].message


def test_many_cronjobs_of_one_minute_do_not_start_together() -> None:
    async def story(world: World) -> None:
        for n in range(60):
            await world.cronjob("0 * * * *", f"c{n}", annotations=JITTER)
        async with world.running():
            await world.clock.sleep(3570 + 900)
            jobs = (await world.client.list(JOBS, "ns")).items
            minutes = {job["metadata"]["creationTimestamp"][14:16] for job in jobs}
            assert len(jobs) == 60
            assert len(minutes) == 15

    play(story)
