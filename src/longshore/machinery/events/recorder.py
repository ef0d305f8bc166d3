"""Tells people what a controller did, as core/v1 Events. Never holds a controller up.

`event` only notes; what it noted is written in the background, at most one write per event and fewer when
several are about the same thing. When too many wait, new ones are dropped and counted. What the server
refuses is given up; while it is away, writes are tried again for two minutes.

Most events happen once. Where the server is in this process, those that were noted while the last ones were
written go to it together. Repetitions are patches and go through a queue, as does every event on its way to a
server that may be away: workers take them one by one, and one event is never written by two at a time.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from longshore.api import errors, names
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, PatchType, Unreachable, in_process
from longshore.machinery.events.correlation import Correlator, Seen
from longshore.machinery.events.traffic import WRITERS, Traffic
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import Clock

_TOGETHER: Final = 64
"""New events that are written in one go, without letting others run."""
_TRIES, _RETRY_SECONDS = 12, 10.0
_LAST_WORDS_SECONDS: Final = 5.0
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

log = logging.getLogger(__name__)


def reference(obj: Obj, kind: tuple[str, str]) -> Obj:
    """A reference to the object of an event. `kind` is its apiVersion and kind, which it does not carry."""
    meta = obj["metadata"]
    ref = {"kind": kind[1], "apiVersion": kind[0]}
    for part in ("namespace", "name", "uid", "resourceVersion"):
        if meta.get(part):
            ref[part] = meta[part]
    return ref


class Recorder:
    """Events of one component, e.g. `job-controller`. Several of one component may share their `traffic`."""

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        clock: Clock,
        rng: random.Random,
        traffic: Traffic | None = None,
    ) -> None:
        self.dropped = 0
        """Events that nobody will see because too many waited."""
        self._client, self._component, self._clock, self._rng = client, component, clock, rng
        self._creates_together = in_process.creates_together(client)
        self._hears = in_process.listener(client)
        self._correlator = Correlator()
        self._new: list[Seen] = []
        """Noted for the first time; only where they are written together."""
        self._any_new = asyncio.Event()
        self._waiting: dict[str, Seen] = {}
        self._queue: WorkQueue[str] = WorkQueue(clock)
        self._last_nanos = 0
        self._now = (0, "")
        self._closing = asyncio.Event()
        self._closed = asyncio.Event()
        self._traffic = traffic or Traffic()
        self._traffic.join(self)

    def event(self, ref: Obj, type_: str, reason: str, message: str) -> None:
        """Notes an event about the object that `ref` (see `reference`) names. Returns at once."""
        if self._hears is not None:
            self._hears(ref, reason, message)
            return
        micros = (self._clock.now() - _EPOCH) // _MICROSECOND
        seen = self._correlator.observe(
            ref,
            type_,
            reason,
            message,
            seconds=self._clock.monotonic(),
            now=self._time(micros // 1_000_000),
            name=lambda ref: self._name(ref.get("name", ""), micros),
        )
        if seen is None or seen.in_hand:
            return  # spam, or whoever writes it will see that there is more to tell
        if seen.name not in self._waiting and self._traffic.is_full:
            self.dropped += 1
        elif seen.count == 1 and self._creates_together:
            seen.in_hand = True
            self._new.append(seen)
            self._any_new.set()
        else:
            self._enqueue(seen)

    @property
    def waiting(self) -> int:
        """Events that wait to be written."""
        return len(self._waiting) + len(self._new)

    def _enqueue(self, seen: Seen) -> None:
        self._waiting[seen.name] = seen
        self._queue.add(seen.name)

    async def run(self) -> None:
        """Writes until cancelled or closed. What was noted before is still written, for some seconds."""
        together = asyncio.create_task(self._write_new())
        writing = asyncio.create_task(run_workers(self._queue, self._write, count=WRITERS))
        try:
            await self._closing.wait()
        finally:
            self._closing.set()
            self._any_new.set()
            with suppress(TimeoutError):
                async with self._clock.timeout(_LAST_WORDS_SECONDS):
                    await asyncio.wait((together,))  # first: what it sees to have happened again is queued
                    await self._queue.drain()
            for task in (together, writing):
                task.cancel()
            await asyncio.gather(together, writing, return_exceptions=True)
            self._traffic.leave(self)
            self._closed.set()

    async def close(self) -> None:
        """Ends `run`, which must be running, and waits until it has written what it can."""
        self._closing.set()
        await self._closed.wait()

    async def _write_new(self) -> None:
        """Writes new events as they come, until closing and none is left."""
        while self._new or not self._closing.is_set():
            if not self._new:
                self._any_new.clear()
                await self._any_new.wait()
                continue
            these, self._new = self._new[:_TOGETHER], self._new[_TOGETHER:]
            try:
                await self._create(these)
            except Exception:  # a bug loses these events, and not all later ones
                log.exception("%d events are lost after an unexpected error", len(these))

    async def _create(self, these: list[Seen]) -> None:
        objs = [self._object(seen) for seen in these]
        try:
            answers = await self._client.create_together(kinds.EVENTS, objs)
        finally:
            for seen in these:
                seen.in_hand = False
        for seen, obj, answer in zip(these, objs, answers, strict=True):
            if isinstance(answer, StatusError):
                _say_refused(seen.name, answer)
                continue
            seen.stored = not isinstance(answer, Unreachable)
            if not seen.stored or seen.count > obj["count"]:
                self._enqueue(seen)

    async def _write(self, name: str) -> float | None:
        """Brings one event on the server up to date."""
        seen = self._waiting.pop(name, None)
        if seen is None:
            return None  # written already: an event of the same name came while this one waited to retry
        try:
            async with self._traffic.turns:
                await self._store(seen)
        except StatusError as err:
            _say_refused(name, err)
        except Unreachable as err:
            seen.tries += 1
            if seen.tries < _TRIES:
                self._waiting.setdefault(name, seen)
                # The first pause differs, so that not everybody comes back at the same moment.
                return _RETRY_SECONDS * (self._rng.random() if seen.tries == 1 else 1.0)
            log.warning("event %s is given up: %s", name, err)
        else:
            seen.tries = 0
        return None

    async def _store(self, seen: Seen) -> None:
        obj = self._object(seen)
        namespace = obj["metadata"]["namespace"]
        if seen.stored:
            patch = {"count": seen.count, "lastTimestamp": seen.last, "message": seen.message}
            with errors.tolerated(404):
                await self._client.patch(kinds.EVENTS, seen.name, patch, namespace, type=PatchType.STRATEGIC)
                return
        await self._client.create(kinds.EVENTS, obj, namespace)
        seen.stored = True

    def _object(self, seen: Seen) -> Obj:
        return {
            "metadata": {"name": seen.name, "namespace": seen.regarding.get("namespace") or "default"},
            "involvedObject": seen.regarding,
            "reason": seen.reason,
            "message": seen.message,
            "source": {"component": self._component},
            "firstTimestamp": seen.first,
            "lastTimestamp": seen.last,
            "count": seen.count,
            "type": seen.type,
            "reportingComponent": self._component,
        }

    def _time(self, second: int) -> str:
        if second != self._now[0]:
            self._now = second, rfc3339.from_seconds(second)
        return self._now[1]

    def _name(self, about: str, micros: int) -> str:
        """`<object>.<hex nanoseconds>`, never the same twice; a UUID where that is no name for an object."""
        self._last_nanos = nanos = max(micros * 1000, self._last_nanos + 1)
        name = f"{about}.{nanos:x}"
        if names.dns1123_subdomain(name):
            name = f"{self._rng.getrandbits(128):032x}"
            name = "-".join((name[:8], name[8:12], "4" + name[13:16], "a" + name[17:20], name[20:]))
        return name


def _say_refused(name: str, err: StatusError) -> None:
    usual = err.reason == "AlreadyExists" or err.has_cause("NamespaceTerminating")
    log.log(logging.DEBUG if usual else logging.WARNING, "event %s was refused: %s", name, err)
