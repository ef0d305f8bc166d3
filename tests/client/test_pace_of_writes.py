"""Writes begin slowly: batches double, and none begins after a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.client.writes import Create, slow_start
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.crashing import OneByOne

Seen = tuple[list[list[int]], list[Any]]


class Doing(OneByOne):
    """Writes take the time and have the end of `do`."""

    def __init__(self, do: Callable[[int], Awaitable[None]]) -> None:
        self.do = do

    async def create(self, what: object, obj: dict[str, int], namespace: str) -> dict[str, int]:
        await self.do(obj["number"])
        return obj


def numbers(count: int) -> list[Create]:
    return [Create(("v1", "ConfigMap"), {"number": number}) for number in range(count)]


def batches(count: int, fails: set[int], first: int = 1) -> Seen:
    """The numbers of writes made side by side, and the answers."""

    async def main(clock: VirtualClock) -> Seen:
        seen: list[list[int]] = []

        async def do(number: int) -> None:
            at = int(clock.monotonic())
            while len(seen) <= at:
                seen.append([])
            seen[at].append(number)
            await clock.sleep(1)
            if number in fails:
                raise StatusError(403, "Forbidden", f"no {number}")

        return seen, await Doing(do).write(numbers(count), slow_start(first))

    return virtual.run(main)


def test_batches_double() -> None:
    seen, result = batches(12, set())
    assert [len(batch) for batch in seen] == [1, 2, 4, 5]
    assert [number for batch in seen for number in batch] == list(range(12))
    assert result == [{"number": number} for number in range(12)]
    assert batches(0, set()) == ([], [])
    assert [len(batch) for batch in batches(30, set(), first=10)[0]] == [10, 20]


def test_after_a_batch_with_an_error_no_other_begins() -> None:
    seen, result = batches(100, {5, 4})
    assert [len(batch) for batch in seen] == [1, 2, 4]
    assert [str(one) for one in result if isinstance(one, Exception)] == ["no 4", "no 5"]
    assert len(result) == 7


def test_a_template_that_is_always_refused_costs_one_request() -> None:
    seen, result = batches(100, set(range(100)))
    assert sum(map(len, seen)) == 1
    assert [type(one) for one in result] == [StatusError]


def test_cancelling_a_slow_start_cancels_what_it_began() -> None:
    async def main(clock: VirtualClock) -> None:
        ended: list[int] = []

        async def do(number: int) -> None:
            try:
                await clock.sleep(10)
            finally:
                ended.append(number)

        task = asyncio.create_task(Doing(do).write(numbers(10), slow_start(4)))
        await clock.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [0, 1, 2, 3]

    virtual.run(main)
