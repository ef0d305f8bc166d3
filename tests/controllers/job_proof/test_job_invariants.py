"""Whatever a Job is, however its pods end and whatever people do: what must always hold.

`LONGSHORE_LIVES=2000` lives more of them.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from longshore.api import indexes
from longshore.api.errors import StatusError
from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.scripts.runs import Run
from simulation import job_books, job_invariants
from simulation.job_books import JobBook
from simulation.record import Record, RecordingStore
from support.job_world import NS, PODS, Script, World, a_job, a_run, a_world, goes, job_controller

CODES = (0, 0, 0, 1, 7, 42)


@dataclass(frozen=True)
class Life:
    """What happens to one Job."""

    spec: Obj
    endings: tuple[tuple[int, float | None], ...]
    """Exit code and seconds of each pod in order of their starts; later ones succeed after ten seconds."""
    deeds: tuple[tuple[float, str, int], ...]
    """After so many seconds each: what somebody does, and a number to do it with."""

    @property
    def elastic(self) -> bool:
        return any(deed == "completions" for _, deed, _ in self.deeds)

    @property
    def stalls(self) -> bool:
        """Whether the Job may be left without an end: suspended, no pods wanted, or one that never ends."""
        pods = any(seconds is None for _, seconds in self.endings)
        deeds = any(deed == "suspend" or (deed == "parallelism" and not n) for _, deed, n in self.deeds)
        return pods or deeds or bool(self.spec.get("suspend")) or not self.spec["parallelism"]


def _exit_codes(action: str, codes: list[int]) -> Obj:
    return {"action": action, "onExitCodes": {"operator": "In", "values": codes}}


RULES: tuple[list[Obj], ...] = (
    [_exit_codes("FailJob", [42])],
    [_exit_codes("Ignore", [7])],
    [_exit_codes("Count", [1]), _exit_codes("Ignore", [7]), _exit_codes("FailJob", [42])],
)


@st.composite
def specs(draw: st.DrawFn) -> Obj:
    """A valid spec, template left out."""
    spec: Obj = {"parallelism": draw(st.integers(0, 4)), "backoffLimit": draw(st.integers(0, 4))}
    indexed = draw(st.booleans())
    completions = draw(st.integers(0, 6)) if indexed else draw(st.none() | st.integers(0, 6))
    if completions is not None:
        spec["completions"] = completions
    if indexed:
        spec["completionMode"] = "Indexed"
        if draw(st.booleans()):
            del spec["backoffLimit"]
            spec["backoffLimitPerIndex"] = draw(st.integers(0, 2))
            if draw(st.booleans()):
                spec["maxFailedIndexes"] = draw(st.integers(0, completions))
        if completions and draw(st.booleans()):
            spec["successPolicy"] = {"rules": [{"succeededCount": draw(st.integers(1, completions))}]}
    if draw(st.booleans()):
        spec["podFailurePolicy"] = {"rules": draw(st.sampled_from(RULES))}
    elif draw(st.booleans()):
        spec["podReplacementPolicy"] = draw(st.sampled_from(("Failed", "TerminatingOrFailed")))
    if draw(st.integers(0, 4)) == 0:
        spec["activeDeadlineSeconds"] = draw(st.sampled_from((0, 1, 30, 200)))
    if draw(st.integers(0, 4)) == 0:
        spec["suspend"] = True
    return spec


@st.composite
def lives(draw: st.DrawFn) -> Life:
    spec = draw(specs())
    seconds: Any = st.sampled_from((0.25, 3.0, 12.0, 40.0, 12.0, None))
    endings = draw(st.lists(st.tuples(st.sampled_from(CODES), seconds), max_size=12))
    deeds = ["suspend", "resume", "parallelism", "delete a pod", "delete a pod", "restart"]
    if spec.get("completionMode") == "Indexed" and "successPolicy" not in spec:
        deeds.append("completions")
    pauses = st.sampled_from((0.1, 1.5, 7.7, 30.3))
    acts = draw(st.lists(st.tuples(pauses, st.sampled_from(deeds), st.integers(0, 4)), max_size=6))
    return Life(spec, tuple(endings), tuple(acts))


# ---- tests

LIVES = int(os.environ.get("LONGSHORE_LIVES", "60"))
_LONG_ENOUGH = 20_000.0
"""More seconds than all back-offs of a Job together."""


@settings(max_examples=LIVES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lives())
def test_what_must_always_hold(life: Life) -> None:
    note(repr(life))
    virtual.run(lambda clock: _live(clock, life))


async def _live(clock: VirtualClock, life: Life) -> None:
    record = Record()
    async with a_world(clock, _script(life), RecordingStore.of(record, clock)) as world:
        controller = Controller(world.client, clock)
        controller.restart()
        await world.client.create(("batch/v1", "Job"), a_job(**life.spec), NS)
        for pause, deed, number in life.deeds:
            await clock.sleep(pause)
            await _do(world, controller, deed, number)
        finished = await _ended(world)
        await world.quiet()
        await controller.stop()
        (book,) = job_books.books(record).values()
        assert [said for judge in JUDGES for said in judge(record)] == []
        assert finished or life.stalls, book.job
        _check_books(world, book, life, finished)


JUDGES = (
    job_invariants.a_verdict_never_changes,
    job_invariants.counters_never_go_down,
    partial(job_invariants.no_more_pods_are_active_than_wanted, reaction=1.0),
)


def _script(life: Life) -> Script:
    numbers = count()

    def run(pod: Obj) -> Run:
        number = next(numbers)
        code, seconds = life.endings[number] if number < len(life.endings) else (0, 10.0)
        # No two pods end at the same instant: which of them a controller sees first would be chance.
        return a_run(None if seconds is None else seconds + number / 64, code)

    return goes(run)


class Controller:
    """The Job controller, to be started anew at any time."""

    def __init__(self, client: Client, clock: VirtualClock) -> None:
        self._client, self._clock = client, clock
        self._task: asyncio.Task[None] | None = None

    def restart(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(job_controller(self._client, self._clock))

    async def stop(self) -> None:
        assert self._task is not None
        assert not self._task.done(), self._task
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def _do(world: World, controller: Controller, deed: str, number: int) -> None:
    try:
        match deed:
            case "suspend" | "resume":
                await world.patch(suspend=deed == "suspend")
            case "parallelism":
                await world.patch(parallelism=number)
            case "completions":
                await world.patch(completions=number, parallelism=number)
            case "delete a pod":
                pods = sorted(pod["metadata"]["name"] for pod in await world.pods())
                for name in pods[number : number + 1]:
                    await world.client.delete(PODS, name, NS)
            case "restart":
                controller.restart()
    except StatusError as err:
        if err.code != 422:  # maxFailedIndexes must not exceed the completions
            raise


async def _ended(world: World) -> bool:
    """Waits until the Job has ended, or nothing happens any more."""
    end = world.clock.monotonic() + _LONG_ENOUGH
    while world.clock.monotonic() < end:
        job = await world.get()
        assert job is not None
        if _finished(job):
            return True
        await world.clock.sleep(100.0)
    return False


def _finished(job: dict[str, object]) -> bool:
    status: dict[str, list[dict[str, str]]] = job.get("status") or {}  # type: ignore[assignment]
    found = {c["type"] for c in status.get("conditions") or () if c["status"] == "True"}
    return bool(found & {"Complete", "Failed"})


def _check_books(world: World, book: JobBook, life: Life, finished: bool) -> None:
    """Every pod ever created is active, waits to be counted, or was counted once, as what it was."""
    status, pods = book.job.get("status") or {}, world.ever
    tracked = [pod for uid, pod in pods.items() if uid not in book.pods]
    uncounted = status.get("uncountedTerminatedPods") or {}
    assert not uncounted, status
    if finished:
        assert not tracked, tracked
        assert not status.get("active"), status
    if life.elastic:
        return  # pods of indexes that are no more count nowhere
    if life.spec.get("completionMode") == "Indexed":
        done = book.completed
        assert status.get("succeeded", 0) == len(done), (status, book.pods)
        found = indexes.read(status.get("completedIndexes") or "", life.spec["completions"])
        assert indexes.count(found) == len(done)
    else:
        assert status.get("succeeded", 0) == book.total("succeeded"), (status, book.pods)
    assert status.get("failed", 0) == book.total("failed"), (status, book.pods)
    waiting = [
        pod for pod in tracked if pod_state.has_ended(pod)
    ]  # failed pods of indexes that are to be tried again
    assert status.get("active", 0) == len(tracked) - len(waiting), (status, tracked)
