"""Follows one resource on the server: reads everything once, then every change, for as long as it runs.

Reads everything by a stream of initial events if the server offers it, else by a list. After a lost
connection it resumes from the last version seen. It reads everything again if the server has forgotten that
version (410), or if watches from it keep failing. After errors it waits longer each time and never gives up.
It passes what it sees to a taker and keeps no objects itself.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any, Final, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.client import Client, Garbled, Unreachable, What
from longshore.client.ask import built_in, known
from longshore.client.projection import WHOLE, Projection
from longshore.client.source import Begin, Bookmark, Changed, Listed, ListEnded, Seen, Taker
from longshore.machinery.queues.backoff import Backoff
from longshore.machinery.time.clock import Clock

_WATCH_SECONDS: Final = (300, 600)
"""Range of the timeout that each watch asks for; random, so that watches do not all end together."""
_SHORT_WATCH_SECONDS: Final = 1.0
"""A watch that ends sooner than this without an event counts as a failure."""
_MAX_FRUITLESS_WATCHES: Final = 3
"""Consecutive watches from one version that were answered and failed before any event. After that many,
everything is read again: this server may never have had the version, for example after a restore."""
_NOT_OFFERED_CODES: Final = frozenset((400, 405, 422))
"""Status codes of servers that do not support initial events."""

log = logging.getLogger(__name__)


class Selection(NamedTuple):
    """The objects to follow, selected as for a list."""

    what: What
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def key(self) -> Selection:
        """The selection with apiVersion and plural, so that a kind and its plural are equal."""
        return self._replace(what=named(self.what))


def named(what: What) -> tuple[str, str]:
    """The apiVersion and the plural of a resource."""
    if isinstance(what, Resource):
        return what.group_version, what.plural
    row = built_in(*what)
    return what if row is None else (row.group_version, row.plural)


class OldList(Exception):
    """A list is older than a version that the server has already sent. It is requested again."""

    def __init__(self, version: str, newest: str) -> None:
        super().__init__(f"a list of version {version} is older than version {newest}, which is known")


class Reflector:
    """Passes all objects of a selection, and all changes, to a taker."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        taker: Taker,
        *,
        clock: Clock,
        rng: random.Random,
        reads: Projection = WHOLE,
    ) -> None:
        self._client, self._taker, self._clock, self._rng = client, taker, clock, rng
        self._what = selection.what
        self._selected: dict[str, Any] = selection._asdict()
        del self._selected["what"]
        self._reads = reads
        self._streaming = True
        self._version = ""
        """The version to resume from; empty if everything must be read again."""
        self._backoff = Backoff(clock, rng)
        self._heard = 0
        """Number of events received since the reflector began."""
        self._fruitless, self._is_open = 0, False
        self._last_success = self._read_at = clock.monotonic()

    @property
    def name(self) -> str:
        return _name(self._what)

    @property
    def silence(self) -> float:
        """Seconds since the server last answered for the resource, or since the start; 0 while a watch is
        open. After a watch that ended in an error, seconds since its last event; a watch that ended at once
        does not count."""
        return 0.0 if self._is_open else self._clock.monotonic() - self._last_success

    async def run(self) -> None:
        """Follows until cancelled."""
        while True:
            begun, heard = self._clock.monotonic(), self._heard
            problem: Exception | None = None
            try:
                await self._step()
            except (StatusError, Unreachable, LookupError, OldList) as err:
                problem = err
            finally:
                was_open, self._is_open = self._is_open, False
                now, told = self._clock.monotonic(), self._heard > heard
                is_refused = isinstance(problem, StatusError | Garbled)
                if was_open and not is_refused and (told or now - begun >= _SHORT_WATCH_SECONDS):
                    self._last_success = now
            if told:
                self._fruitless = 0
                if now - begun >= _SHORT_WATCH_SECONDS:
                    self._backoff.begin_anew()  # upstream's grow to a minute without events
            # A version that had time to grow old may be forgotten before the next watch begins.
            since = self._read_at if problem is not None else begun
            if (problem is None or self._expected(problem)) and (
                self._heard > heard or now - since >= _SHORT_WATCH_SECONDS
            ):
                if problem is not None:
                    log.info("%s: %s; reading everything again", _name(self._what), problem)
                continue
            log.warning(
                "cannot follow %s: %s", _name(self._what), problem or "the server ends watches at once"
            )
            if not told and (was_open or is_refused) and not _is_busy(problem):
                self._doubt_version()
            await self._clock.sleep(self._backoff.next())

    def _doubt_version(self) -> None:
        """Counts a watch that gave an error or nothing. After the third, everything is read again."""
        self._fruitless += 1
        if self._fruitless >= _MAX_FRUITLESS_WATCHES:
            self._fruitless, self._version = 0, ""

    async def _step(self) -> None:
        if self._version:
            async with self._client.watch(
                self._what,
                **self._selected,
                resource_version=self._version,
                timeout=self._timeout(),
                reads=self._reads,
            ) as events:
                self._is_open = True
                await events.hand_to(self._take)
        elif self._streaming:
            await self._stream()
        else:
            await self._list()

    def _expected(self, err: Exception) -> bool:
        """Whether `err` only means to read everything again, by a list if streams are not offered."""
        if not isinstance(err, StatusError):
            return False
        if self._streaming and not self._version and err.code in _NOT_OFFERED_CODES:
            self._streaming = False
            self._heard += 1  # an answer: the list may follow at once
            return True
        forgotten = err.code == 410 and self._version != ""
        if err.code < 500 and not _is_busy(err):
            self._version = ""  # forgotten, forbidden or not served any more: nothing to go on from
        return forgotten

    async def _list(self) -> None:
        """Reads everything by one list.

        No resourceVersion is sent, so the list must be as new as the server. A list from a lagging cache may
        be older: a controller that restarts after a crash would then see a state from before the crash. Such
        a list is refused (`OldList`). A stream needs no check: the server marks where it is up to date.
        """
        newest = await self._client.current_version(self._what, self._selected["namespace"])
        resource = known(self._what) or await self._client.resource(self._what)
        self._taker(Begin())
        version = ""
        async for page in self._client.pages(self._what, **self._selected, reads=self._reads):
            if not page.resource_version:
                raise Garbled(f"a list of {_name(self._what)} without a version")
            if revision_of(page.resource_version) < revision_of(newest):
                raise OldList(page.resource_version, newest)
            if page.anew:
                self._taker(Begin())
            version = page.resource_version
            self._taker(Listed([self._client.entry(resource, item) for item in page.items]))
            await asyncio.sleep(0)  # the taker gets its turn
        self._take(ListEnded(version))

    async def _stream(self) -> None:
        """Follows by one watch that sends first the existing objects, then the changes."""
        async with self._client.watch(
            self._what, **self._selected, initial_events=True, timeout=self._timeout(), reads=self._reads
        ) as events:
            self._is_open = True
            if await events.list_to(self._take):
                await events.hand_to(self._take)

    def _take(self, seen: Seen) -> None:
        """Passes on what the server sends, and remembers the version reached."""
        if isinstance(seen, ListEnded):
            self._version, self._read_at = seen.version, self._clock.monotonic()
        elif self._version and isinstance(seen, Changed | Bookmark):
            self._version = seen.version
        if self._version:  # else everything is being listed
            self._heard += 1
            self._last_success = self._clock.monotonic()
        self._taker(seen)

    def _timeout(self) -> int:
        return self._rng.randint(*_WATCH_SECONDS)


def revision_of(version: str) -> int:
    """The version as a number; 0 if it is none, as older servers' versions may be."""
    return int(version) if version.isdecimal() else 0


def _is_busy(problem: Exception | None) -> bool:
    """Whether the server asks to come back later (429), which says nothing about the version."""
    return isinstance(problem, StatusError) and problem.code == 429


def _name(what: What) -> str:
    return f"{what[1]} of {what[0]}" if isinstance(what, tuple) else what.qualified
