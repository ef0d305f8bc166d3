"""Abilities of a client whose server is in the same process, which controllers use where they find them.

Code written against `Client` alone never needs them; `pipeline` and `creates_together` fall back to the
ordinary way for clients without. `listener` is for clients that take Events without storing them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, cast

from longshore.api.types import Obj
from longshore.client.client import Client
from longshore.client.protocol import Packed, WatchEvent

Settled: TypeAlias = Callable[[], Awaitable[None]]
Taker: TypeAlias = Callable[[str, Obj], None]
"""Takes a change: ADDED, MODIFIED or DELETED, and the object. Must not raise."""
Hears: TypeAlias = Callable[[Obj, str, str], None]
"""Is told of an Event: the reference to its object, the reason and the message."""


class InProcess(Protocol):
    """Beside `Client`, on the same object."""

    creates_together: bool
    """Whether `create_together` costs less than as many creates."""

    def pipelined(self) -> Client:
        """A client for writes of one caller that build upon each other, with a `settled` of its own. It may
        answer a write that was accepted but is not yet durable; none of them ever becomes so without all
        before it, and nobody else sees any before that."""

    async def settled(self) -> None:
        """Waits until all that this client answered is durable."""


def is_here(client: Client) -> bool:
    """Whether the server is in this process."""
    return hasattr(client, "pipelined")


def pipeline(client: Client) -> tuple[Client, Settled]:
    """A client for writes in a row, pipelined where it can be, and what to await before acting on its answers
    in other ways than by more writes."""
    if not is_here(client):
        return client, _durable_already
    made = cast(InProcess, client).pipelined()
    return made, cast(InProcess, made).settled


def creates_together(client: Client) -> bool:
    """Whether `create_together` costs less than as many creates."""
    return getattr(client, "creates_together", False)


class HandsOver(Protocol):
    """Beside an iterator of watch events, on the same object."""

    def hand_to(self, taker: Taker) -> bool:
        """Changes that come from now on go to `taker`, without waking who iterates; whatever else comes still
        goes there. False before the watch has begun, and then nothing has changed."""


Stored: TypeAlias = tuple[tuple[str, str], Packed]
"""One object as the store holds it: its namespace and name, and what gives it back."""


class FirstLook(NamedTuple):
    """All objects that existed when a watch began."""

    objects: Sequence[Stored]
    resource_version: str
    facts: Callable[[Packed], Obj] | None
    """Reads a few facts of an object without unpacking it (`api/facts/settled_pods.py`); None for kinds that
    have no such form."""


class Shows(Protocol):
    """Beside an iterator of watch events, on the same object."""

    async def first_look(self) -> FirstLook | None:
        """The initial events of the watch at once, before anybody has iterated; None to iterate instead."""


async def first_look(events: AsyncIterator[WatchEvent]) -> FirstLook | None:
    """The initial events of a watch at once, not unpacked, where the server is in this process; else None."""
    return await cast(Shows, events).first_look() if hasattr(events, "first_look") else None


def hand_over(events: AsyncIterator[WatchEvent], taker: Taker) -> bool:
    """Has changes go to `taker` where the server is in this process. False before the watch has begun: ask
    again after its first event."""
    return not hasattr(events, "hand_to") or cast(HandsOver, events).hand_to(taker)


def listener(client: Client) -> Hears | None:
    """The listener to Events that this client does not store; None where they are objects like others."""
    return getattr(client, "hears", None)


async def _durable_already() -> None:
    """Each write was durable when it was answered."""
