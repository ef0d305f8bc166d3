"""Records what a controller did as core/v1 Events. Never delays a controller.

`event` only queues; writes happen in the background, at most one per event, and fewer if several are about
the same thing. If 1000 wait, new events are dropped and counted. An event that the server refuses is dropped;
while the server is unreachable, writes are retried for two minutes.

If the server is in this process, new events are written to it in batches: those queued during one write make
the next. Repetitions are patches and go through a work queue, as does every event to a remote server. The
queue gives each event to one worker at a time.
"""

from __future__ import annotations

import asyncio
import logging
import random
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from longshore.api import errors, names
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, PatchType, Unreachable
from longshore.client.writes import Create
from longshore.machinery import catalogue
from longshore.machinery.background import cancelled
from longshore.machinery.events.correlation import Correlator, Seen
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import Clock

MAX_WAITING: Final = 1000
"""The size of upstream's queue."""
WRITERS: Final = 4
_TRIES, _RETRY_SECONDS = 12, 10.0
_LAST_WORDS_SECONDS: Final = 5.0
_REMAINDERS: Final = 43
"""The remainder of the nanoseconds in an event's name is that of its component: all of longshore's differ."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

log = logging.getLogger(__name__)


def reference(obj: Obj, kind: tuple[str, str]) -> Obj:
    """A reference to the object of an event. `kind` is its apiVersion and kind, which `obj` may lack."""
    meta = obj["metadata"]
    ref = {"kind": kind[1], "apiVersion": kind[0]}
    for part in ("namespace", "name", "uid", "resourceVersion"):
        if meta.get(part):
            ref[part] = meta[part]
    return ref


Hears: TypeAlias = Callable[[Obj, str, str], None]
"""Takes an event: the reference to its object, the reason and the message."""


class Recorder:
    """Records events of one component, e.g. `job-controller`. Events go to `hears` if that is given, and are
    not stored."""

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        clock: Clock,
        rng: random.Random,
        hears: Hears | None = None,
    ) -> None:
        self.dropped = 0
        """The number of events that were dropped because too many waited."""
        self._client, self._component, self._clock, self._rng = client, component, clock, rng
        self._hears = hears
        self._correlator = Correlator()
        self._new: list[Seen] = []
        """New events that are to be written in one batch; used only with a client that can write batches."""
        self._any_new = asyncio.Event()
        self._waiting: dict[str, Seen] = {}
        self._queue: WorkQueue[str] = WorkQueue(clock)
        self._last_nanos, self._remainder = 0, zlib.crc32(component.encode()) % _REMAINDERS
        self._now = (0, "")
        self._closing = asyncio.Event()
        self._closed = asyncio.Event()

    def event(self, ref: Obj, type_: str, reason: str, message: str) -> None:
        """Queues an event about the object that `ref` (see `reference`) names. Returns at once."""
        if log.isEnabledFor(logging.INFO):
            _tell(ref, type_, reason, message)
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
            return  # spam, or its writer will see the new count
        if seen.name not in self._waiting and self.waiting >= MAX_WAITING:
            self.dropped += 1
        elif seen.count == 1 and self._client.writes_at_once > 1:
            seen.in_hand = True
            self._new.append(seen)
            self._any_new.set()
        else:
            self._enqueue(seen)

    def announce(self, ref: Obj, code: str, /, **numbers: object) -> None:
        """Queues the Event that the catalogue has for this reason."""
        self.event(ref, *catalogue.event(code, numbers))

    @property
    def waiting(self) -> int:
        """Events that wait to be written."""
        return len(self._waiting) + len(self._new)

    def _enqueue(self, seen: Seen) -> None:
        self._waiting[seen.name] = seen
        self._queue.add(seen.name)

    async def run(self) -> None:
        """Writes until cancelled or closed. Events queued before that are still written, for 5 s at most."""
        together = asyncio.create_task(self._write_new())
        writing = asyncio.create_task(run_workers(self._queue, self._write, count=WRITERS))
        try:
            await self._closing.wait()
        finally:
            self._closing.set()
            self._any_new.set()
            with suppress(TimeoutError):
                async with self._clock.timeout(_LAST_WORDS_SECONDS):
                    await asyncio.wait((together,))  # first: it queues repetitions that it finds
                    await self._queue.drain()
            await cancelled((together, writing))
            self._closed.set()

    async def close(self) -> None:
        """Ends `run`, which must be running, and waits until it has written what it can."""
        self._closing.set()
        await self._closed.wait()

    async def _write_new(self) -> None:
        """Writes new events in batches until the recorder is closing and none is left."""
        while self._new or not self._closing.is_set():
            if not self._new:
                self._any_new.clear()
                await self._any_new.wait()
                continue
            size = self._client.writes_at_once
            these, self._new = self._new[:size], self._new[size:]
            try:
                await self._create(these)
            except Exception:  # a bug loses these events, and not all later ones
                log.exception("%d events are lost after an unexpected error", len(these))

    async def _create(self, these: list[Seen]) -> None:
        objs = [self._object(seen) for seen in these]
        try:
            answers = await self._client.write([Create(kinds.EVENTS, obj) for obj in objs])
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
        """Creates or updates one event on the server."""
        seen = self._waiting.pop(name, None)
        if seen is None:
            return None  # written already: an event of the same name came while this one waited to retry
        try:
            await self._store(seen)
        except StatusError as err:
            _say_refused(name, err)
        except Unreachable as err:
            seen.tries += 1
            if seen.tries < _TRIES:
                self._waiting.setdefault(name, seen)
                # The first pause is random, so that not all clients retry at the same moment.
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
        """A unique name `<object>.<hex nanoseconds>`; a UUID if that is no valid object name. Two components
        that tell of one object at the same moment differ in the remainder of the nanoseconds."""
        nanos = max(micros * 1000, self._last_nanos + 1)
        self._last_nanos = nanos = nanos + (self._remainder - nanos) % _REMAINDERS
        name = f"{about}.{nanos:x}"
        if names.dns1123_subdomain(name):
            name = f"{self._rng.getrandbits(128):032x}"
            name = "-".join((name[:8], name[8:12], "4" + name[13:16], "a" + name[17:20], name[20:]))
        return name


def _say_refused(name: str, err: StatusError) -> None:
    usual = err.reason == "AlreadyExists" or err.has_cause("NamespaceTerminating")
    log.log(logging.DEBUG if usual else logging.WARNING, "event %s was refused: %s", name, err)


def _tell(ref: Obj, type_: str, reason: str, message: str) -> None:
    """Logs an event with the fields object, type and reason."""
    about = f"{ref.get('kind')} {ref.get('namespace') or ''}/{ref.get('name')}".replace(" /", " ")
    fields = {"object": about, "type": type_, "reason": reason}
    log.info("event: %s: %s %s: %s", about, type_, reason, message, extra={"fields": fields})
