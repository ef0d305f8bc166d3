"""Abilities of a client whose server is in the same process, which controllers use where they find them.

Code written against `Client` alone never needs them; `pipeline` and `creates_together` fall back to the
ordinary way for clients without.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, cast

from longshore.client.client import Client

Settled: TypeAlias = Callable[[], Awaitable[None]]


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


async def _durable_already() -> None:
    """Each write was durable when it was answered."""
