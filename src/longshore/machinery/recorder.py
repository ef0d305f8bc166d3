"""Tells people what a controller did, as core/v1 Events. Never holds a controller up.

`event` only notes; workers write in the background, at most one write per event and fewer when several
are about the same thing. When too many wait, new ones are dropped and counted. What the server refuses is
given up; while it is away, writes are tried again for two minutes.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from longshore.api import names
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Client, PatchType, Unreachable
from longshore.machinery.clock import Clock, to_seconds
from longshore.machinery.correlation import Correlator, Seen
from longshore.machinery.workers import run_workers
from longshore.machinery.workqueue import WorkQueue

EVENTS: Final = ("v1", "Event")
_WAITING: Final = 1000
_WORKERS: Final = 4
_TRIES, _RETRY_SECONDS = 12, 10.0
_LAST_WORDS_SECONDS: Final = 5.0
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

log = logging.getLogger(__name__)


def reference(obj: Obj, kind: tuple[str, str]) -> Obj:
    """What an event says it is about. `kind` is the object's apiVersion and kind, which it does not carry."""
    meta = obj["metadata"]
    ref = {"kind": kind[1], "apiVersion": kind[0]}
    for part in ("namespace", "name", "uid", "resourceVersion"):
        if meta.get(part):
            ref[part] = meta[part]
    return ref


class Recorder:
    """Events of one component, e.g. `job-controller`."""

    def __init__(self, client: Client, component: str, *, clock: Clock, rng: random.Random) -> None:
        self.dropped = 0
        """Events that nobody will see because too many waited."""
        self._client, self._component, self._clock, self._rng = client, component, clock, rng
        self._correlator = Correlator()
        self._waiting: dict[str, Seen] = {}
        self._queue: WorkQueue[str] = WorkQueue(clock)
        self._last_nanos = 0
        self._now = (_EPOCH, "")
        self._closing = asyncio.Event()
        self._closed = asyncio.Event()

    def event(self, ref: Obj, type_: str, reason: str, message: str) -> None:
        """Notes an event about the object that `ref` (see `reference`) names. Returns at once."""
        seen = self._correlator.observe(
            ref,
            type_,
            reason,
            message,
            seconds=self._clock.monotonic(),
            now=self._time(),
            name=lambda: self._name(ref.get("name", "")),
        )
        if seen is None:
            return
        if len(self._waiting) >= _WAITING and seen.name not in self._waiting:
            self.dropped += 1
            return
        self._waiting[seen.name] = seen
        self._queue.add(seen.name)

    async def run(self) -> None:
        """Writes until cancelled or closed. What was noted before is still written, for some seconds."""
        writing = asyncio.create_task(run_workers(self._queue, self._write, count=_WORKERS))
        try:
            await self._closing.wait()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_SECONDS):
                    await self._queue.drain()
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            self._closed.set()

    async def close(self) -> None:
        """Ends `run`, which must be running, and waits until it has written what it can."""
        self._closing.set()
        await self._closed.wait()

    async def _write(self, name: str) -> float | None:
        """Brings one event on the server up to date."""
        seen = self._waiting.pop(name, None)
        if seen is None:
            return None  # written already: an event of the same name came while this one waited to retry
        try:
            await self._store(seen)
        except StatusError as err:
            if err.reason == "AlreadyExists" or err.has_cause("NamespaceTerminating"):
                log.debug("event %s was refused: %s", name, err)
            else:
                log.warning("event %s was refused: %s", name, err)
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
        namespace = seen.regarding.get("namespace") or "default"
        if seen.stored:
            patch = {"count": seen.count, "lastTimestamp": seen.last, "message": seen.message}
            try:
                await self._client.patch(EVENTS, seen.name, patch, namespace, type=PatchType.STRATEGIC)
                return
            except StatusError as err:
                if err.code != 404:
                    raise
        await self._client.create(EVENTS, self._object(seen, namespace), namespace)
        seen.stored = True

    def _object(self, seen: Seen, namespace: str) -> Obj:
        return {
            "metadata": {"name": seen.name, "namespace": namespace},
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

    def _time(self) -> str:
        now = self._clock.now().replace(microsecond=0)
        if now != self._now[0]:
            self._now = now, to_seconds(now)
        return self._now[1]

    def _name(self, about: str) -> str:
        """`<object>.<hex nanoseconds>`, never the same twice; a UUID where that is no name for an object."""
        nanos = (self._clock.now() - _EPOCH) // _MICROSECOND * 1000
        self._last_nanos = nanos = max(nanos, self._last_nanos + 1)
        name = f"{about}.{nanos:x}"
        if names.dns1123_subdomain(name):
            name = f"{self._rng.getrandbits(128):032x}"
            name = "-".join((name[:8], name[8:12], "4" + name[13:16], "a" + name[17:20], name[20:]))
        return name
