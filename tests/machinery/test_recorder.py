"""Events: names, texts, counts, and what is never written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.client.ask import Ask
from longshore.machinery.events import correlation
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import START, VirtualClock
from longshore.testing.crashing import READS, OneByOne, Send
from longshore.testing.stories import beside
from machinery.control_plane import EVENTS, api

JOB = {"kind": "Job", "apiVersion": "batch/v1", "namespace": "ns", "name": "job", "uid": "1"}


class Writes(OneByOne):
    """Passes on to a client and notes writes; `errors` are raised instead, one per write."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.client, self.writes_at_once = client, 1
        self.log: list[str] = []
        self.errors: list[Exception | None] = []
        self.seconds = 0.0

    async def reach(self, ask: Ask, send: Send) -> Any:
        if ask.verb not in READS:
            self.log.append(f"{ask.verb} {ask.value['message']} ×{ask.value['count']}")
            await asyncio.sleep(self.seconds)
            if self.errors and (error := self.errors.pop(0)) is not None:
                raise error
        return await send(ask)


Main = Callable[[VirtualClock, Writes, Recorder], Awaitable[None]]


def run(main: Main) -> None:
    async def whole(clock: VirtualClock) -> None:
        async with api(clock) as client:
            writes = Writes(client)
            recorder = Recorder(writes, "job-controller", clock=clock, rng=clock.rng)
            async with beside(recorder.run()):
                await main(clock, writes, recorder)

    virtual.run(whole)


async def events(writes: Writes, namespace: str = "ns") -> dict[str, Obj]:
    return {e["message"]: e for e in (await writes.client.list(EVENTS, namespace)).items}


def test_an_event_has_every_field_upstream_sets() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        await clock.sleep(1.5)
        recorder.event({**JOB, "resourceVersion": "7"}, "Normal", "SuccessfulCreate", "Created pod: job-x")
        await clock.sleep(0.1)
        (event,) = (await writes.client.list(EVENTS)).items
        nanos = int((START.timestamp() + 1.5) * 1e9)
        name, _, moment = event["metadata"]["name"].partition(".")
        assert (name, int(moment, 16) // 1000) == ("job", nanos // 1000)
        assert event["metadata"]["namespace"] == "ns"
        del event["metadata"]
        assert event == {
            "involvedObject": {**JOB, "resourceVersion": "7"},
            "reason": "SuccessfulCreate",
            "message": "Created pod: job-x",
            "source": {"component": "job-controller"},
            "firstTimestamp": "2026-01-01T00:00:01Z",
            "lastTimestamp": "2026-01-01T00:00:01Z",
            "count": 1,
            "type": "Normal",
            "eventTime": None,
            "reportingComponent": "job-controller",
            "reportingInstance": "",
        }

    run(main)


def test_the_same_event_again_counts_up_by_a_patch() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for _ in range(3):
            recorder.event(JOB, "Warning", "FailedCreate", "Error creating: no")
            await clock.sleep(10)
        assert writes.log == [
            "create Error creating: no ×1",
            "patch Error creating: no ×2",
            "patch Error creating: no ×3",
        ]
        (event,) = (await writes.client.list(EVENTS)).items
        assert event["count"] == 3
        assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"
        assert event["lastTimestamp"] == "2026-01-01T00:00:20Z"

    run(main)


def test_the_same_event_many_times_at_once_is_one_write() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for _ in range(5):
            recorder.event(JOB, "Normal", "Suspended", "Job suspended")
        await clock.sleep(1)
        assert writes.log == ["create Job suspended ×5"]

    run(main)


def test_an_event_that_comes_while_it_is_being_written_follows_as_a_patch() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.seconds = 1
        for _ in range(4):
            recorder.event(JOB, "Normal", "Suspended", "Job suspended")
            await clock.sleep(0.3)
        await clock.sleep(5)
        assert writes.log == ["create Job suspended ×1", "patch Job suspended ×4"]

    run(main)


def test_different_events_at_the_same_moment_have_different_names() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for n in range(5):
            recorder.event(JOB, "Normal", "SuccessfulCreate", f"Created pod: {n}")
        await clock.sleep(1)
        assert len(await events(writes)) == 5

    run(main)


def test_from_the_tenth_on_similar_events_are_combined() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for n in range(1, 13):
            recorder.event(JOB, "Normal", "SuccessfulCreate", f"Created pod: {n}")
            await clock.sleep(1)
        shown = await events(writes)
        assert list(shown) == [
            *(f"Created pod: {n}" for n in range(1, 10)),
            "(combined from similar events): Created pod: 12",
        ]
        combined = shown["(combined from similar events): Created pod: 12"]
        assert combined["count"] == 3
        assert combined["firstTimestamp"] == "2026-01-01T00:00:09Z"
        assert writes.log[-2:] == [
            "patch (combined from similar events): Created pod: 11 ×2",
            "patch (combined from similar events): Created pod: 12 ×3",
        ]

    run(main)


def test_other_reasons_types_and_objects_are_not_similar() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for n in range(4):
            recorder.event(JOB, "Normal", "A", f"a{n}")
            recorder.event(JOB, "Warning", "A", f"b{n}")
            recorder.event(JOB, "Normal", "B", f"c{n}")
            recorder.event({**JOB, "uid": "2"}, "Normal", "A", f"d{n}")
        await clock.sleep(1)
        assert len(await events(writes)) == 16

    run(main)


def test_after_ten_quiet_minutes_events_are_told_apart_again() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for n in range(10):
            recorder.event(JOB, "Normal", "A", f"first {n}")
        await clock.sleep(600)
        recorder.event(JOB, "Normal", "A", "still similar")
        await clock.sleep(601)
        recorder.event(JOB, "Normal", "A", "on its own")
        await clock.sleep(1)
        shown = await events(writes)
        assert "(combined from similar events): still similar" in shown
        assert "on its own" in shown

    run(main)


def test_one_object_may_cause_25_events_and_then_one_in_five_minutes() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for n in range(40):
            recorder.event(JOB, "Normal", f"Reason{n}", f"{n}")
        other = {**JOB, "name": "other"}
        recorder.event(other, "Normal", "Reason", "of another")
        await clock.sleep(1)
        assert list(await events(writes)) == [*(f"{n}" for n in range(25)), "of another"]
        await clock.sleep(300)
        for n in range(50, 55):
            recorder.event(JOB, "Normal", f"Reason{n}", f"{n}")
        await clock.sleep(1)
        assert (await events(writes)).keys() == {*(f"{n}" for n in range(25)), "of another", "50"}

    run(main)


def test_a_flood_of_warnings_takes_nothing_from_what_went_well() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for n in range(40):
            recorder.event(JOB, "Warning", f"Reason{n}", f"{n}")
        recorder.event(JOB, "Normal", "SuccessfulDelete", "Deleted pod: p")
        await clock.sleep(1)
        assert list(await events(writes)) == [*(f"{n}" for n in range(25)), "Deleted pod: p"]

    run(main)


def test_spam_is_counted_all_the_same() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for _ in range(30):
            recorder.event(JOB, "Normal", "A", "a")
            await clock.sleep(0.1)
        assert (await events(writes))["a"]["count"] == 25
        await clock.sleep(300)
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(1)
        assert (await events(writes))["a"]["count"] == 31

    run(main)


def test_a_hundred_thousand_pods_cost_twenty_five_writes() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for n in range(100_000):
            recorder.event(JOB, "Normal", "SuccessfulCreate", f"Created pod: {n}")
            if not n % 100:
                await clock.sleep(0.001)
        assert len(writes.log) <= 25
        assert recorder.dropped == 0

    run(main)


def test_when_too_many_wait_new_ones_are_dropped() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.seconds = 1000
        for n in range(1500):
            recorder.event({**JOB, "uid": f"{n}"}, "Normal", "A", f"{n}")
        await clock.sleep(1)
        assert recorder.dropped == 500
        assert len(writes.log) == 4

    run(main)


def test_an_event_that_the_server_forgot_is_made_again() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(1)
        await writes.client.delete_collection(EVENTS, "ns")
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(1)
        assert (await events(writes))["a"]["count"] == 2

    run(main)


def test_a_refused_event_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        going = StatusError(
            403, "Forbidden", "going", details={"causes": [{"reason": "NamespaceTerminating"}]}
        )
        exists = StatusError(409, "AlreadyExists", "exists")
        writes.errors = [StatusError(422, "Invalid", "bad event"), going, exists]
        for n in range(3):
            recorder.event(JOB, "Normal", "A", f"{n}")
        await clock.sleep(100)
        assert len(writes.log) == 3

    with caplog.at_level(logging.INFO):
        run(main)
    told = [r.getMessage() for r in caplog.records if "recorder" in r.name]
    problems = [text.split(": ")[-1] for text in told if not text.startswith("event: ")]
    assert problems == ["bad event"]


def test_while_the_server_is_away_an_event_is_tried_twelve_times() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.errors = [Unreachable("it is away")] * 3
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(35)
        assert len(writes.log) == 4
        assert (await events(writes))["a"]["count"] == 1
        writes.errors = [Unreachable("it is away")] * 100
        recorder.event(JOB, "Normal", "A", "b")
        await clock.sleep(1000)
        assert len(writes.log) == 16

    run(main)


def test_an_event_that_repeats_while_it_waits_to_be_tried_again_is_written_once() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.errors = [Unreachable("it is away"), Unreachable("it is away")]
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(11)
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(100)
        assert writes.log == ["create a ×1", "create a ×1", "create a ×2"]

    run(main)


def test_what_was_noted_before_the_end_is_still_written() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            writes = Writes(client)
            writes.seconds = 0.5
            recorder = Recorder(writes, "c", clock=clock, rng=clock.rng)
            async with beside(recorder.run()):
                await clock.sleep(1)
                for n in range(9):
                    recorder.event(JOB, "Normal", "A", f"{n}")
            assert len(await events(writes)) == 9

    virtual.run(main)


def test_closing_waits_for_the_last_words() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.seconds = 1
        recorder.event(JOB, "Normal", "A", "a")
        await recorder.close()
        assert clock.monotonic() == 1
        assert list(await events(writes)) == ["a"]
        recorder.event(JOB, "Normal", "A", "too late")

    run(main)


def test_a_server_that_is_away_does_not_hold_up_the_end() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.seconds = 1000
        recorder.event(JOB, "Normal", "A", "a")
        await recorder.close()
        assert clock.monotonic() == 5

    run(main)


def test_events_of_cluster_scoped_objects_go_to_the_default_namespace() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        await writes.client.create(("v1", "Namespace"), {"metadata": {"name": "default"}})
        node = {"kind": "Node", "apiVersion": "v1", "name": "n", "uid": "n"}
        recorder.event(node, "Normal", "A", "a")
        await clock.sleep(1)
        assert list(await events(writes, "default")) == ["a"]

    run(main)


def test_an_object_whose_name_cannot_begin_an_event_s_name_still_gets_events() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        recorder.event({**JOB, "name": "system:odd"}, "Normal", "A", "a")
        await clock.sleep(1)
        name = (await events(writes))["a"]["metadata"]["name"]
        assert [len(part) for part in name.split("-")] == [8, 4, 4, 4, 12]

    run(main)


def test_only_the_most_recent_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlation, "_MAX_ENTRIES", 3)

    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for uid in "1234":
            recorder.event({**JOB, "uid": uid}, "Normal", "A", "a")
        recorder.event({**JOB, "uid": "2"}, "Normal", "A", "a")
        recorder.event({**JOB, "uid": "1"}, "Normal", "A", "a")
        await clock.sleep(1)
        counts: dict[str, list[int]] = {}
        for event in (await writes.client.list(EVENTS)).items:
            counts.setdefault(event["involvedObject"]["uid"], []).append(event["count"])
        assert counts == {"1": [1, 1], "2": [2], "3": [1], "4": [1]}

    run(main)
