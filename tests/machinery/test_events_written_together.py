"""New events go to a server in the same process together; all that was promised of them one by one holds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Unreachable
from longshore.client.local import LocalClient
from longshore.client.writes import Create
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside
from machinery.control_plane import EVENTS, api

JOB = {"kind": "Job", "apiVersion": "batch/v1", "namespace": "ns", "name": "job", "uid": "1"}


class Writes:
    """Passes on to a client and notes writes, which take some `seconds` each."""

    writes_at_once = 64

    def __init__(self, client: LocalClient) -> None:
        self.client = client
        self.log: list[str] = []
        self.seconds = 0.0
        self.error: Exception | None = None
        self.away = False

    async def write(self, writes: Sequence[Create]) -> list[Obj | StatusError | Unreachable]:
        objs = [write.obj for write in writes]
        self.log.append("create " + " ".join(f"{obj['message']}×{obj['count']}" for obj in objs))
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        if self.away:
            return [Unreachable("it is away") for _ in objs]
        return await self.client.write(writes)

    async def create(self, what: Any, obj: Obj, namespace: str) -> Obj:
        self.log.append(f"create alone {obj['message']}×{obj['count']}")
        return await self.client.create(what, obj, namespace)

    async def patch(self, what: Any, name: str, patch: Obj, namespace: str, **options: Any) -> Obj:
        self.log.append(f"patch {patch['message']}×{patch['count']}")
        return await self.client.patch(what, name, patch, namespace, **options)


Main = Callable[[VirtualClock, Writes, Recorder], Awaitable[None]]


def run(main: Main) -> None:
    async def whole(clock: VirtualClock) -> None:
        async with api(clock) as client:
            writes = Writes(client)
            recorder = Recorder(writes, "job-controller", clock=clock, rng=clock.rng)  # type: ignore[arg-type]
            async with beside(recorder.run()):
                await main(clock, writes, recorder)

    virtual.run(whole)


async def shown(writes: Writes) -> dict[str, int]:
    return {e["message"]: e["count"] for e in (await writes.client.list(EVENTS, "ns")).items}


def test_what_is_noted_in_one_turn_is_one_write() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for n in range(5):
            recorder.event(JOB, "Normal", "A", f"{n}")
        await clock.sleep(1)
        assert writes.log == ["create 0×1 1×1 2×1 3×1 4×1"]
        assert await shown(writes) == {f"{n}": 1 for n in range(5)}

    run(main)


def test_what_comes_while_others_are_written_goes_with_the_next() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.seconds = 1
        for n in range(4):
            recorder.event(JOB, "Normal", "A", f"{n}")
            await clock.sleep(0.3)
        await clock.sleep(5)
        assert writes.log == ["create 0×1", "create 1×1 2×1 3×1"]

    run(main)


def test_the_same_event_many_times_at_once_is_counted_in_one_write() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for _ in range(5):
            recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(1)
        assert writes.log == ["create a×5"]

    run(main)


def test_an_event_that_happens_again_while_it_is_written_follows_as_one_patch() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.seconds = 1
        for _ in range(3):
            recorder.event(JOB, "Normal", "A", "a")
            await clock.sleep(0.3)
        await clock.sleep(1)
        assert writes.log == ["create a×1", "patch a×3"]
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(1)
        assert await shown(writes) == {"a": 4}

    run(main)


def test_a_refused_event_is_given_up_and_the_others_are_not(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        recorder.event(JOB, "Normal", "A", "a")
        recorder.event({**JOB, "namespace": "missing"}, "Normal", "A", "b")
        recorder.event(JOB, "Normal", "A", "c")
        await clock.sleep(100)
        assert len(writes.log) == 1
        assert await shown(writes) == {"a": 1, "c": 1}

    with caplog.at_level(logging.INFO):
        run(main)
    told = [r.getMessage() for r in caplog.records if "recorder" in r.name]
    problems = [text.split(": ")[-1] for text in told if not text.startswith("event: ")]
    assert problems == ['namespaces "missing" not found']


def test_what_could_not_be_told_is_told_alone_later() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.away = True
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(1)
        assert writes.log == ["create a×1", "create alone a×1"]
        assert await shown(writes) == {"a": 1}

    run(main)


def test_an_error_that_nobody_expected_loses_those_events_only(caplog: pytest.LogCaptureFixture) -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.error = RuntimeError("a bug")
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(1)
        writes.error = None
        recorder.event(JOB, "Normal", "A", "b")
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(1)
        assert await shown(writes) == {"a": 2, "b": 1}

    run(main)
    assert [r.getMessage() for r in caplog.records if "recorder" in r.name] == [
        "1 events are lost after an unexpected error"
    ]


def test_when_too_many_wait_new_ones_are_dropped() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        for n in range(1500):
            recorder.event({**JOB, "uid": f"{n}"}, "Normal", "A", f"{n}")
        await clock.sleep(1)
        assert recorder.dropped == 500
        assert len(await shown(writes)) == 1000

    run(main)


def test_closing_waits_for_the_last_words_and_for_what_happened_again() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.seconds = 1
        recorder.event(JOB, "Normal", "A", "a")
        await clock.sleep(0.5)
        recorder.event(JOB, "Normal", "A", "a")
        recorder.event(JOB, "Normal", "A", "b")
        await recorder.close()
        assert clock.monotonic() == 2
        assert await shown(writes) == {"a": 2, "b": 1}
        recorder.event(JOB, "Normal", "A", "too late")

    run(main)


def test_a_server_that_does_not_answer_does_not_hold_up_the_end() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        writes.seconds = 1000
        recorder.event(JOB, "Normal", "A", "a")
        await recorder.close()
        assert clock.monotonic() == 5

    run(main)


def test_all_objects_of_one_call_are_in_one_commit() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            before = client.api.store.counters.commits
            maps = [{"metadata": {"name": f"m{n}", "namespace": "ns"}} for n in range(20)]
            again = [*maps, {"metadata": {"name": "No", "namespace": "ns"}}, maps[3]]
            answers = await client.write([Create(("v1", "ConfigMap"), obj) for obj in again])
            reasons = [answer.reason for answer in answers if isinstance(answer, StatusError)]
            assert reasons == ["Invalid", "AlreadyExists"]
            assert client.api.store.counters.commits == before + 1

    virtual.run(main)


COMPONENTS = (
    "cronjob-controller",
    "default-scheduler",
    "garbage-collector-controller",
    "job-controller",
    "kubelet",
    "longshore",
    "node-controller",
    "persistentvolume-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
    "vc-controller-manager",
    "volcano",
)


def test_all_components_tell_of_one_object_at_the_same_moment() -> None:
    async def main(clock: VirtualClock, writes: Writes, recorder: Recorder) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for component in COMPONENTS:
                one = Recorder(writes, component, clock=clock, rng=clock.rng)  # type: ignore[arg-type]
                await stack.enter_async_context(beside(one.run()))
                for n in range(3):
                    one.event(JOB, "Normal", "A", f"{component} {n}")
            await clock.sleep(1)
        assert await shown(writes) == {f"{each} {n}": 1 for each in COMPONENTS for n in range(3)}

    run(main)
