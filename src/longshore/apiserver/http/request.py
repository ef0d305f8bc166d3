"""One request, from a connection or from a client in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from longshore.apiserver.http.begun import Exchange
    from longshore.apiserver.request.call import User


class Headers(dict[str, str]):
    """The first value of every header, by its name in lower case; `repeated` has the further ones.

    A dict, because a request looks up about eight of them.
    """

    __slots__ = ("repeated",)

    def __init__(self, first: dict[str, str] | None = None) -> None:
        super().__init__(first or {})
        self.repeated: list[tuple[str, str]] = []

    def all(self, name: str) -> list[str]:
        """Every value of a header, in the order sent."""
        first = self.get(name)
        return [] if first is None else [first, *(value for key, value in self.repeated if key == name)]

    def listed(self, name: str) -> tuple[str, ...]:
        """The words of a header that may be given once with commas, or several times."""
        return tuple(word for value in self.all(name) for part in value.split(",") if (word := part.strip()))


class Request(msgspec.Struct):
    """One request. `user` is set if the connection itself proves it: by a client certificate, or since the
    caller is in this process.

    A struct, as `Call` is: one is made for every request.
    """

    method: str
    target: str
    """Path and query as they were sent."""
    headers: Headers
    user: User | None = None
    body: bytes = b""
    last: bool = False
    """Whether the connection ends with the answer to this request."""
    old: bool = False
    """Whether the request uses HTTP/1.0, which has no chunks."""
    upgrade: str = ""
    """The protocol that the connection is to change to, in lower case."""
    is_known: bool = False
    """Whether the request is authenticated: by a valid certificate, token or login."""
    exchange: Exchange | None = None
    """The result of `admit`, from before the body had arrived."""
    now: Callable[[], float] = time.time
    """The clock of the answer's `Date`."""
