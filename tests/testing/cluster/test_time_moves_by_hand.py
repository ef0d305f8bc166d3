"""The clock of a cluster stands still until the test moves it; then everything due is done, in order."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import urllib.request
from typing import Any

import pytest

from longshore.testing import Cluster, Exit, WaitFailed
from longshore.testing.held_loop import HeldLoop
from testing.cluster.cluster_manifests import a_cronjob, a_job


def starts(c: Cluster) -> list[str]:
    times = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    return sorted(job["metadata"]["annotations"][times] for job in c.list("jobs"))


def asked(c: Cluster, path: str) -> Any:
    """One request over HTTPS, with nothing but Python's own library."""
    tls = ssl.create_default_context(cadata=c.kubeconfig_ca)
    request = urllib.request.Request(c.url + path, headers={"Authorization": f"Bearer {c.token}"})
    with urllib.request.urlopen(request, context=tls, timeout=60) as answer:
        return json.load(answer)


def test_an_idle_day_has_few_moments_at_which_anything_is_due(c: Cluster) -> None:
    """Every timer that somebody sets for nothing is paid for in each virtual hour."""
    loop, moments = c.loop.loop, 0
    assert isinstance(loop, HeldLoop)
    jump = loop.jump

    def counted(seconds: float) -> None:
        nonlocal moments
        moments += 1
        jump(seconds)

    loop.jump = counted  # type: ignore[method-assign]
    c.clock.advance("1h")  # what the start left behind
    moments = 0
    c.clock.advance("1d")
    assert moments <= 30


def test_time_stands_still_and_then_passes_as_far_as_it_is_told(c: Cluster) -> None:
    before = c.clock.now()
    c.pods.script("*", Exit(0, after="1h"))
    c.apply(a_job())
    assert c.clock.now() == before
    c.clock.advance("59m59s")
    assert c.list("pods")[0]["status"]["phase"] == "Running"
    assert (c.clock.advance(1) - before).total_seconds() == 3600
    assert c.list("pods")[0]["status"]["phase"] == "Succeeded"


def test_a_cronjob_runs_at_its_times(c: Cluster) -> None:
    c.apply(a_cronjob(successfulJobsHistoryLimit=10))
    c.clock.advance("3h30m")
    assert [start[11:19] for start in starts(c)] == ["01:00:00", "02:00:00", "03:00:00"]


def test_a_cronjob_in_the_night_that_the_clocks_change(c: Cluster) -> None:
    c.clock.set("2027-03-28T00:30", "Europe/Berlin")
    c.apply(a_cronjob(schedule="30 * * * *", timeZone="Europe/Berlin", successfulJobsHistoryLimit=10))
    c.clock.advance_to("2027-03-28T04:00", "Europe/Berlin")
    assert [start[11:16] for start in starts(c)] == ["01:30", "03:30"]


def test_time_passes_until_a_job_is_complete_and_no_further(c: Cluster) -> None:
    before = c.clock.now()
    c.pods.script("*", Exit(0, after="5h"))
    c.apply(a_job())
    assert (c.clock.until("job/report complete", at_most="1d") - before).total_seconds() == 5 * 3600
    with pytest.raises(WaitFailed, match="after 60 s"):
        c.clock.until("job/other complete", at_most="1m")
    with pytest.raises(ValueError, match="what is to be true"):
        c.clock.until("job/other", at_most="1m")


def test_a_client_gets_its_answer_while_time_stands_still_and_while_it_passes(c: Cluster) -> None:
    """The server answers at once, also a client that asks in the middle of a day."""
    c.apply(a_cronjob(schedule="0 0 * * *"))
    passing = threading.Thread(target=lambda: c.clock.advance("4h"))
    passing.start()
    answers = [asked(c, "/apis/batch/v1/namespaces/default/cronjobs/nightly")["kind"] for _ in range(5)]
    passing.join()
    assert answers == ["CronJob"] * 5


def test_a_watch_is_told_of_what_happens_while_time_passes(c: Cluster) -> None:
    seen: list[str] = []
    tls = ssl.create_default_context(cadata=c.kubeconfig_ca)
    path = "/apis/batch/v1/namespaces/default/jobs?watch=true"
    request = urllib.request.Request(c.url + path, headers={"Authorization": f"Bearer {c.token}"})
    answer = urllib.request.urlopen(request, context=tls, timeout=60)

    def read() -> None:
        for line in answer:
            event = json.loads(line)
            seen.append(event["type"])
            if event["object"]["status"].get("succeeded"):
                return

    reading = threading.Thread(target=read)
    reading.start()
    c.pods.script("*", Exit(0, after="1h"))
    c.apply(a_job())
    c.clock.advance("2h")
    reading.join(60)
    answer.close()
    assert not reading.is_alive()
    assert seen[0] == "ADDED"


def test_code_that_waits_by_itself_gets_time_that_flows(c: Cluster) -> None:
    c.pods.script("*", Exit(0, after="1h"))
    c.apply(a_job())
    with c.clock.flowing(speed=36000):
        while not asked(c, "/apis/batch/v1/namespaces/default/jobs/report")["status"].get("succeeded"):
            pass
    stopped = c.clock.now()
    assert asked(c, "/version")["major"]
    assert c.clock.now() == stopped


def test_a_flow_inside_a_flow_ends_with_the_speed_of_the_outer_one(c: Cluster) -> None:
    with c.clock.flowing(speed=3600):
        with c.clock.flowing(speed=1):
            slow = c.clock.now()
        began = c.clock.now()
        assert (began - slow).total_seconds() < 600
        while (c.clock.now() - began).total_seconds() < 900:
            c.list("jobs")
    stopped = c.clock.now()
    assert c.clock.now() == stopped


def test_events_live_as_long_as_the_test(c: Cluster) -> None:
    c.apply(a_job())
    told = {event["metadata"]["name"] for event in c.events()}
    c.clock.advance("30d")
    assert told
    assert {event["metadata"]["name"] for event in c.events()} >= told


def test_a_cluster_starts_and_ends_beside_the_loop_of_its_caller() -> None:
    turns = 0

    async def story() -> None:
        nonlocal turns

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.001)

        counting = asyncio.create_task(count())
        async with Cluster():
            begun = turns
        assert begun > 2
        assert turns > begun
        counting.cancel()

    asyncio.run(story())


def test_a_clock_is_set_back_and_forward_without_running_what_lies_between(c: Cluster) -> None:
    assert c.clock.set("2030-06-01T12:00").isoformat() == "2030-06-01T12:00:00+00:00"
    assert c.clock.set("2020-06-01T12:00+02:00").isoformat() == "2020-06-01T10:00:00+00:00"
    with pytest.raises(ValueError, match="is no moment"):
        c.clock.set("tomorrow")
    with pytest.raises(ValueError, match="no time zone"):
        c.clock.set("2030-06-01T12:00", "Mars/Base")
    with pytest.raises(ValueError, match="is over"):
        c.clock.advance_to("2010-01-01T00:00")


def test_on_the_real_clock_time_cannot_be_moved() -> None:
    with Cluster(clock="real", controllers=[]) as c, pytest.raises(RuntimeError, match='clock="virtual"'):
        c.clock.advance("1s")
