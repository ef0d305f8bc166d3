"""Follows one resource on the server: everything once, then every change, for as long as it runs.

Fills up by a stream of initial events where the server offers it, else by a list. A lost connection
goes on from the last version seen; a version the server has forgotten (410) fills up again. Errors wait
longer each time and are never the end. Says what it saw to a `Sink`; keeps no objects itself.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Iterable, Set
from typing import Any, Final, NamedTuple, Protocol

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import Client, Unreachable, WatchEvent, What, in_process
from longshore.client.ask import built_in
from longshore.client.in_process import FirstLook
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.scopes import Scopes
from longshore.machinery.queues.backoff import Backoff
from longshore.machinery.time.clock import Clock

_WATCH_SECONDS: Final = (300, 600)
"""Each watch asks the server to end it after a time in this range, so that not all end together."""
_SHORT_WATCH_SECONDS: Final = 1.0
"""A watch that ends sooner than this and told nothing is a failure in disguise."""
_PASSED_ON_TOGETHER: Final = 512
"""Objects of a list; a sink takes as many in one turn of the loop."""
_NOT_OFFERED: Final = frozenset((400, 405, 422))
"""Answers of servers that know no initial events."""

log = logging.getLogger(__name__)


class Selection(NamedTuple):
    """The objects that are followed, as for a list."""

    what: What
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def key(self) -> Selection:
        """The selection by apiVersion and plural, so that a kind and its plural mean the same."""
        return self._replace(what=named(self.what))


def named(what: What) -> tuple[str, str]:
    """The apiVersion and the plural of a resource."""
    if isinstance(what, Resource):
        return what.group_version, what.plural
    row = built_in(*what)
    return what if row is None else (row.group_version, row.plural)


class OldList(Exception):
    """The server answered a list that is older than what it had told before. It is asked again."""

    def __init__(self, version: str, newest: str) -> None:
        super().__init__(f"a list of version {version} is older than version {newest}, which is known")


class Sink(Protocol):
    """Hears what a reflector sees."""

    def list_begins(self) -> None:
        """Everything is about to be read."""

    def listed(self, objects: Iterable[Obj]) -> None:
        """Some objects of a list of everything."""

    def shown(self, look: FirstLook) -> None:
        """All objects, as a server in this process holds them. `list_ended` follows."""

    def list_ended(self, keys: Set[Key], revision: int) -> None:
        """The list is complete: it had these keys, as of this revision."""

    def added(self, obj: Obj, revision: int) -> None: ...

    def modified(self, obj: Obj, revision: int) -> None: ...

    def deleted(self, obj: Obj, revision: int) -> None: ...

    def bookmark(self, revision: int) -> None: ...


class Reflector:
    """Tells a sink of all objects, but for those of namespaces that `scopes` want nothing of: these it may
    leave out."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        sink: Sink,
        scopes: Scopes,
        *,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._client, self._sink, self._clock, self._rng = client, sink, clock, rng
        self._scopes = scopes
        self._what = selection.what
        self._selected: dict[str, Any] = selection._asdict()
        del self._selected["what"]
        self._streaming = True
        self._version = ""
        """Where to go on; empty when everything must be read again."""
        self._backoff = Backoff(clock, rng)
        self._filled = False
        """Whether the sink was ever told of everything."""
        self._heard = 0
        """Events told since the reflector began."""
        self._is_open = False
        self._last_success = self._read_at = clock.monotonic()

    @property
    def name(self) -> str:
        return _name(self._what)

    @property
    def silence(self) -> float:
        """Seconds since a list or a watch last went well, or since the beginning; 0 while a watch is open."""
        return 0.0 if self._is_open else self._clock.monotonic() - self._last_success

    @property
    def follows(self) -> bool:
        """Whether everything was read, and only changes are followed now."""
        return bool(self._version)

    def forget(self) -> None:
        """The next run reads everything again."""
        self._version = ""

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
                if self._is_open:
                    self._is_open, self._last_success = False, self._clock.monotonic()
            # A version that had time to grow old may be forgotten before the next watch begins.
            since = self._read_at if problem is not None else begun
            if (problem is None or self._expected(problem)) and (
                self._heard > heard or self._clock.monotonic() - since >= _SHORT_WATCH_SECONDS
            ):
                if problem is not None:
                    log.info("%s: %s; reading everything again", _name(self._what), problem)
                continue
            log.warning(
                "cannot follow %s: %s", _name(self._what), problem or "the server ends watches at once"
            )
            await self._clock.sleep(self._backoff.next())

    async def _step(self) -> None:
        if self._version:
            async with self._client.watch(
                self._what, **self._selection(), resource_version=self._version, timeout=self._timeout()
            ) as events:
                self._is_open = True
                await self._follow(events)
        elif self._streaming:
            await self._stream()
        else:
            await self._list()

    def _expected(self, err: Exception) -> bool:
        """Whether `err` only says to read everything again, and by a list if it must be."""
        if not isinstance(err, StatusError):
            return False
        if self._streaming and not self._version and err.code in _NOT_OFFERED:
            self._streaming = False
            self._heard += 1  # an answer: the list may follow at once
            return True
        if err.code < 500 and err.code != 429:
            self._version = ""  # forgotten, forbidden or not served any more: nothing to go on from
        return err.code == 410

    async def _list(self) -> None:
        """One list. As in `_stream`, the first time pages are passed on as they come.

        No resourceVersion is sent, so the list has to be as new as the server is. One that is read from a
        cache that lags behind may not be, and a controller that comes after a crash would be shown a world
        from before it. Such a list is refused; a stream is told by the server to be new.
        """
        self._sink.list_begins()
        newest = await self._client.current_version(self._what, self._selected["namespace"])
        everything: set[Key] = set()
        kept: list[Obj] = []
        version = ""
        async for page in self._client.pages(self._what, **self._selection()):
            if revision_of(page.resource_version) < revision_of(newest):
                raise OldList(page.resource_version, newest)
            if page.anew:
                everything, kept = set(), []
            everything.update(map(key_of, page.items))
            version = page.resource_version
            if self._filled:
                kept += page.items
            else:
                self._sink.listed(page.items)
                await asyncio.sleep(0)  # the sink gets its turn
        self._sink.listed(kept)
        self._sink.list_ended(everything, revision_of(version))
        self._filled = True
        self._version = version
        self._heard += 1
        self._last_success = self._read_at = self._clock.monotonic()

    async def _stream(self) -> None:
        """One watch that tells first what exists, then what changes.

        The first time objects are passed on as they come, so that 100,000 are never unpacked at once. Later
        a stream that breaks off must tell nothing: there are those who work with what was told before.
        """
        self._sink.list_begins()
        async with self._client.watch(
            self._what, **self._selection(), initial_events=True, timeout=self._timeout()
        ) as events:
            self._is_open = True
            if not self._filled and (look := await in_process.first_look(events)) is not None:
                self._sink.shown(look)
                await self._begin({key for key, _ in look.objects}, look.resource_version, events)
                return
            everything: set[Key] = set()
            some: dict[Key, Obj] = {}
            async for event in events:
                if event.type == "BOOKMARK":
                    if event.ends_initial_events:
                        break
                    continue
                key = key_of(event.object)
                if event.type == "DELETED":
                    some.pop(key, None)
                    everything.discard(key)
                    continue
                everything.add(key)
                some[key] = event.object
                if len(some) == _PASSED_ON_TOGETHER and not self._filled:
                    self._sink.listed(some.values())
                    some = {}
                    await asyncio.sleep(0)  # the sink gets its turn
            else:
                return
            self._sink.listed(some.values())
            await self._begin(everything, event.resource_version, events)

    async def _begin(self, everything: set[Key], version: str, events: AsyncIterator[WatchEvent]) -> None:
        """Goes on from where everything was told."""
        self._sink.list_ended(everything, revision_of(version))
        self._filled = True
        self._version = version
        self._heard += 1
        self._read_at = self._clock.monotonic()
        await self._follow(events)

    async def _follow(self, events: AsyncIterator[WatchEvent]) -> None:
        is_handed_over = in_process.hand_over(events, self._tell)
        async for event in events:
            self._tell(event.type, event.object)
            if not is_handed_over:
                is_handed_over = in_process.hand_over(events, self._tell)

    def _tell(self, kind: str, obj: Obj) -> None:
        if not self._version:
            return  # everything is about to be read again
        self._version = version = obj["metadata"]["resourceVersion"]
        self._heard += 1
        revision, sink = revision_of(version), self._sink
        match kind:
            case "MODIFIED":
                sink.modified(obj, revision)
            case "ADDED":
                sink.added(obj, revision)
            case "DELETED":
                sink.deleted(obj, revision)
            case _:
                sink.bookmark(revision)

    def _selection(self) -> dict[str, Any]:
        """The selection to ask for. All of it where somebody wants all: nothing is left out then."""
        return self._selected if self._scopes.everything else {**self._selected, "only": self._scopes.wants}

    def _timeout(self) -> int:
        return self._rng.randint(*_WATCH_SECONDS)


def revision_of(version: str) -> int:
    """Versions are numbers since Kubernetes says that they may be compared; older servers' may not be."""
    return int(version) if version.isdecimal() else 0


def _name(what: What) -> str:
    return f"{what[1]} of {what[0]}" if isinstance(what, tuple) else what.qualified
