"""Faults on demand: which requests fail, how, for which clients and how often. Pure except for the clock.

A fault names a method and a resource: `PUT jobs/status`, `POST pods`, `GET *`, `*`. It strikes clients over
HTTP, the controllers, or both. Of several pending faults that match, the first refusal counts, and delays add
up.
"""

from __future__ import annotations

import builtins
import difflib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import msgspec

from longshore.api.clock import Clock
from longshore.api.errors import StatusError
from longshore.apiserver.request.call import Call
from longshore.client.ask import Ask
from longshore.client.client import Client
from longshore.client.source import Watching
from longshore.client.writes import Pace, Result, Write
from longshore.scripts.spreads import Duration, seconds
from longshore.testing import faulty_client as words
from longshore.testing.crashing import OneByOne, Send

if TYPE_CHECKING:
    from longshore.api.resources import Resource
    from longshore.machinery.time import clock as machinery_clock
    from longshore.testing.cluster_for_tests import Cluster

Who = Literal["all", "clients", "controllers"]
METHODS: Final = {
    "create": "POST",
    "delete": "DELETE",
    "deletecollection": "DELETE",
    "get": "GET",
    "list": "GET",
    "patch": "PATCH",
    "update": "PUT",
    "watch": "GET",
}
"""HTTP methods by API verb."""


class Fault(msgspec.Struct, eq=False, dict=True):
    """One fault. `happened` counts how often it struck."""

    on: str
    who: Who
    problem: Callable[[], Exception] | None
    """Makes the refusal; with None the fault only delays."""
    delay: float = 0.0
    times: int | None = None
    """The number of requests that it will still strike; None for no limit."""
    until: float | None = None
    """The moment, by the monotonic clock, at which the fault ends; None if it does not end by time."""
    happened: int = 0

    def __post_init__(self) -> None:
        method, _, resource = self.on.partition(" ")
        if method != "*" and method not in METHODS.values():
            known = ", ".join(dict.fromkeys(METHODS.values()))
            raise ValueError(
                f"on={self.on!r}: it begins with a method ({known}) or *, as in 'PUT jobs/status'"
            )
        check_who(self.who)
        check_count("times", self.times)
        self._method, self._resource = method, resource.strip() or "*"

    def __str__(self) -> str:
        return f'the fault on "{self.on}" for {self.who}'

    def check_served(self, served: Iterable[Resource]) -> None:
        """Refuses a pattern that no request for these resources can match. Paths begin with a slash."""
        if self._resource.startswith("/"):
            return
        known: dict[str, set[str]] = {}
        for row in served:
            known.setdefault(row.plural, set()).update(row.verbs)
            for name, each in row.subresources.items():
                known.setdefault(f"{row.plural}/{name}", set()).update(each.verbs)
        meant = {name for name in known if fnmatchcase(name, self._resource)}
        if not meant:
            near = difflib.get_close_matches(self._resource, known, 3)
            cure = f"did you mean {' or '.join(near)}?" if near else "name a plural, as in 'PUT jobs/status'"
            raise ValueError(f"on={self.on!r}: nothing that is served here is {self._resource!r}; {cure}")
        methods = sorted({METHODS[verb] for name in meant for verb in known[name]})
        if self._method not in ("*", *methods):
            raise ValueError(
                f"on={self.on!r}: {self._resource} takes no {self._method}, only {', '.join(methods)}"
            )

    def strikes(self, who: Who, verb: str, resource: str, now: float) -> bool:
        return (
            self.who in ("all", who)
            and self.times != 0
            and (self.until is None or now < self.until)
            and self._method in ("*", METHODS.get(verb, verb))
            and fnmatchcase(resource, self._resource)
        )


class Faults:
    """The pending faults of one cluster."""

    def __init__(self, clock: Clock) -> None:
        self.waiting: list[Fault] = []
        self.ordered: list[Fault] = []
        """All faults that were ever added."""
        self._clock = clock

    def add(self, fault: Fault) -> Fault:
        self.waiting.append(fault)
        self.ordered.append(fault)
        return fault

    def clear(self) -> None:
        """Removes all faults."""
        self.waiting.clear()

    def strike(self, who: Who, verb: str, plural: str, subresource: str) -> tuple[float, Exception | None]:
        """Returns the seconds by which a request is delayed, and its refusal, if any."""
        if not self.waiting:
            return 0.0, None
        resource = f"{plural}/{subresource}" if subresource else plural
        now, delay = self._clock.monotonic(), 0.0
        self.waiting[:] = [each for each in self.waiting if each.times != 0 and now < (each.until or now + 1)]
        for fault in self.waiting:
            if fault.strikes(who, verb, resource, now):
                fault.happened += 1
                if fault.times is not None:
                    fault.times -= 1
                delay += fault.delay
                if fault.problem is not None:
                    return delay, fault.problem()
        return delay, None

    def strike_call(self, who: Who, call: Call) -> tuple[float, Exception | None]:
        """Calls `strike` for a call of the API."""
        return self.strike(who, call.verb, call.resource.plural, call.subresource)


class StruckClient(OneByOne):
    """The client of a cluster's own controllers, which faults may strike. While faults are pending, each
    write is made alone and waited for."""

    def __init__(self, client: Client, clock: machinery_clock.Clock, faults: Faults) -> None:
        super().__init__(client)
        self._clock, self._faults = clock, faults

    async def reach(self, ask: Ask, send: Send) -> Any:
        if self._faults.waiting:
            await self._struck(ask)
        return await send(ask)

    async def write(self, writes: Sequence[Write], pace: Pace | None = None) -> builtins.list[Result]:
        if self._faults.waiting:
            return await super().write(writes, pace)
        return await self._client.write(writes, pace)

    def in_order(self) -> Client:
        return self if self._faults.waiting else self._client.in_order()

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        if self._faults.waiting:
            await self._struck(ask)
        async with super()._events(ask) as events:
            yield events

    async def _struck(self, ask: Ask) -> None:
        delay, problem = self._faults.strike("controllers", ask.verb, ask.resource.plural, ask.subresource)
        if delay:
            await self._clock.sleep(delay)
        if problem is not None:
            raise problem


def check_who(who: str) -> None:
    """Refuses a word that is none of `Who`."""
    if who not in get_args(Who):
        raise ValueError(f"who: there is no {who!r}; there are: {', '.join(get_args(Who))}")


def check_count(name: str, count: object) -> None:
    """Refuses a count that is neither None nor a whole number of 0 or more."""
    if count is not None and (type(count) is not int or count < 0):
        raise ValueError(f"{name}: {count!r} is no whole number of 0 or more")


def unavailable() -> Exception:
    return StatusError(503, "ServiceUnavailable", "the server is currently unable to handle the request")


def refused(code: int, retry_after: float) -> Exception:
    """A refusal with the time until the next try."""
    error = words.throttled() if code == 429 else unavailable() if code == 503 else words.broken()
    assert isinstance(error, StatusError)
    details = {"retryAfterSeconds": max(int(retry_after), 1)} if retry_after else None
    return StatusError(code, error.reason, error.message, details=details)


# The faults of a cluster, as a test orders them: `c.faults.conflict(times=1, on="PUT jobs/status")`.

__tracebackhide__ = True
"""Reports of pytest end at the line of the test that called; `--full-trace` shows the rest."""


class ClusterFaults:
    """`c.faults`. `on` names a method and a resource that is served, or a path with its slash; `who` is all,
    clients over HTTP, or the controllers. The returned fault counts how often it `happened`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def conflict(self, times: int = 1, on: str = "PUT *", who: Who = "all") -> Fault:
        """A 409, as if another client had been quicker."""
        return self._add(Fault(on, who, words.conflict, times=times))

    def unavailable(self, for_: Duration, on: str = "*", who: Who = "all") -> Fault:
        """A 503 to every matching request, for a time by the cluster's clock."""
        until = self._cluster.inside.clock.monotonic() + seconds(for_)
        return self._add(Fault(on, who, unavailable, until=until))

    def throttle(
        self,
        code: int = 429,
        retry_after: Duration = 1.0,
        times: int | None = 1,
        on: str = "*",
        who: Who = "all",
    ) -> Fault:
        """A refusal with the time until the next try. With `times=None` it lasts until `clear`."""
        if code not in (429, 500, 503):
            raise ValueError(f"code {code}: a server in trouble answers 429, 500 or 503")
        return self._add(Fault(on, who, partial(refused, code, seconds(retry_after)), times=times))

    def slow(self, delay: Duration, times: int | None = None, on: str = "*", who: Who = "all") -> Fault:
        """Delays each matching request, by the cluster's clock."""
        return self._add(Fault(on, who, None, delay=seconds(delay), times=times))

    def drop_watch(self, who: Who = "all") -> None:
        """Cuts all watches (and logs that are followed) that are open now."""
        check_who(who)
        self._cluster.loop.call(lambda: self._drop(who))
        self._cluster.settle()

    def compact(self, who: Who = "all") -> None:
        """Forgets the history of changes and cuts all watches: a watch that goes on from an older version
        gets a 410, and its client has to list again."""
        check_who(who)

        def compact() -> None:
            self._cluster.inside.store.forget_history()
            self._drop(who)

        self._cluster.loop.call(compact)
        self._cluster.settle()

    def crash_controllers(self) -> None:
        """Controllers, schedulers and the node's agent die at any point of their work, and start again from
        stored objects only. Time passes while faults keep them from starting."""
        self._cluster.do(self._cluster.inside.crash_controllers())

    def restart(self) -> None:
        """The whole server goes down with all its connections and comes up again at its address."""
        self._cluster.do(self._cluster.inside.restart())

    def clear(self) -> None:
        """Removes all faults."""
        self._cluster.loop.call(self._cluster.inside.faults.clear)

    def _add(self, fault: Fault) -> Fault:
        inside = self._cluster.inside

        def add() -> Fault:
            fault.check_served(inside.api.catalog.resources())
            return inside.faults.add(fault)

        return self._cluster.loop.call(add)

    def _drop(self, who: Who) -> None:
        inside = self._cluster.inside
        if who in ("all", "clients"):
            inside.front.drop_streams()
        if who in ("all", "controllers"):
            inside.store.cut_local_watches()
