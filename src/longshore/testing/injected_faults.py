"""Faults on demand: which requests go wrong, how, for whom and how often. Pure but for a clock it is given.

A fault is about a method and a resource: `PUT jobs/status`, `POST pods`, `GET *`, `*`. It strikes clients
over HTTP, the controllers, or both. Faults that wait for their turn stand in a list; the first refusal that
matches counts, and delays add up.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from longshore.api.clock import Clock
from longshore.api.errors import StatusError
from longshore.apiserver.request.call import Call
from longshore.testing import faults as words

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
"""Of HTTP, by verb."""


class Fault(msgspec.Struct, eq=False, dict=True):
    """One kind of trouble. `happened` says how often it struck."""

    on: str
    who: Who
    problem: Callable[[], Exception] | None
    """Makes the refusal; None only delays."""
    delay: float = 0.0
    times: int | None = None
    """How often it will strike; None for as long as it is there."""
    until: float | None = None
    """Strikes before this moment of the monotonic clock."""
    happened: int = 0

    def __post_init__(self) -> None:
        method, _, resource = self.on.partition(" ")
        if method != "*" and method not in METHODS.values():
            known = ", ".join(dict.fromkeys(METHODS.values()))
            raise ValueError(
                f"on={self.on!r}: it begins with a method ({known}) or *, as in 'PUT jobs/status'"
            )
        self._method, self._resource = method, resource.strip() or "*"

    def strikes(self, who: Who, verb: str, resource: str, now: float) -> bool:
        return (
            self.who in ("all", who)
            and self.times != 0
            and (self.until is None or now < self.until)
            and self._method in ("*", METHODS.get(verb, verb))
            and fnmatchcase(resource, self._resource)
        )


class Faults:
    """The faults of one cluster that wait for their turn."""

    def __init__(self, clock: Clock) -> None:
        self.waiting: list[Fault] = []
        self._clock = clock

    def add(self, fault: Fault) -> Fault:
        self.waiting.append(fault)
        return fault

    def clear(self) -> None:
        """Everything works again."""
        self.waiting.clear()

    def strike(self, who: Who, verb: str, plural: str, subresource: str) -> tuple[float, Exception | None]:
        """Seconds that a request takes longer, and the refusal it gets, if any."""
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
        """Strikes a call of the API."""
        return self.strike(who, call.verb, call.resource.plural, call.subresource)


def unavailable() -> Exception:
    return StatusError(503, "ServiceUnavailable", "the server is currently unable to handle the request")


def refused(code: int, retry_after: float) -> Exception:
    """A refusal that says when to try again."""
    error = words.throttled() if code == 429 else unavailable() if code == 503 else words.broken()
    assert isinstance(error, StatusError)
    details = {"retryAfterSeconds": max(int(retry_after), 1)} if retry_after else None
    return StatusError(code, error.reason, error.message, details=details)
