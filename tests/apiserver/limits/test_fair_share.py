"""A client that has had its share of a turn waits for the next one, in its own queue."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable

import pytest

from apiserver.limits.wire import MAPS, Wire, answer, serving
from longshore.api.kinds import table
from longshore.apiserver.http import fair_share
from longshore.apiserver.http.fair_share import FairShare
from longshore.apiserver.request.call import Call, User

pytestmark = pytest.mark.anyio


def create(wire: Wire, name: str) -> bytes:
    body = json.dumps({"metadata": {"name": name}}).encode()
    return wire.head("POST", MAPS, Content_Length=str(len(body))) + body


def call_of(name: str) -> Call:
    resource = table.find("", "v1", "configmaps")
    assert resource is not None
    return Call(resource, "create", "default", "", "", {}, User(name, ("system:authenticated",)), "test")


async def test_only_who_has_had_its_share_waits_and_only_until_the_next_turn() -> None:
    fair, greedy, other = FairShare(), call_of("greedy"), call_of("other")
    assert not fair.must_wait(greedy)
    fair.spend(greedy, 1.0)
    assert fair.must_wait(greedy)
    assert not fair.must_wait(other)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not fair.must_wait(greedy)


async def test_requests_that_wait_begin_in_their_order_and_a_few_in_a_turn() -> None:
    fair, greedy = FairShare(), call_of("greedy")
    begun: list[int] = []
    for number in range(20):
        fair.when_due(greedy, functools.partial(begun.append, number))
    in_turns = []
    while len(begun) < 20:
        await asyncio.sleep(0)
        in_turns.append(len(begun))
        assert len(in_turns) < 20
    assert begun == [*range(20)]
    assert 1 < len({*in_turns} - {0}) < 20
    assert not fair.must_wait(greedy)


async def test_every_request_that_waits_is_answered_and_those_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_share, "_TURN_SECONDS", 1e-9)
    async with serving(monkeypatch) as wire:
        opened = [await wire.open() for _ in range(12)]
        for number, (_, writer) in enumerate(opened):
            writer.write(create(wire, f"first-{number}") + create(wire, f"second-{number}"))
        for number, (reader, _) in enumerate(opened):
            for which in ("first", "second"):
                code, document = await answer(reader)
                assert (code, document["metadata"]["name"]) == (201, f"{which}-{number}")


async def test_a_request_whose_client_went_while_it_waited_is_not_carried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    due: list[Callable[[], None]] = []
    monkeypatch.setattr(FairShare, "must_wait", lambda self, call: call.verb == "create")
    monkeypatch.setattr(FairShare, "when_due", lambda self, call, begin: due.append(begin))
    async with serving(monkeypatch) as wire:
        (_, gone), (reader, stays) = await wire.open(), await wire.open()
        gone.write(create(wire, "gone"))
        stays.write(create(wire, "stays"))
        async with asyncio.timeout(10):
            while len(due) < 2:  # noqa: ASYNC110 - the server reads in its own time
                await asyncio.sleep(0.01)
            gone.transport.abort()
            connections = [begin.func.__self__ for begin in due if isinstance(begin, functools.partial)]
            while not any(connection._lost for connection in connections):  # noqa: ASYNC110 - likewise
                await asyncio.sleep(0.01)
        for begin in due:
            begin()
        assert (await answer(reader))[0] == 201
        assert (await wire.ask("GET", f"{MAPS}/stays"))[0] == 200
        assert (await wire.ask("GET", f"{MAPS}/gone"))[0] == 404


async def test_too_many_that_wait_are_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_share, "_MAX_WAITING", 0)
    monkeypatch.setattr(FairShare, "must_wait", lambda self, call: True)
    async with serving(monkeypatch) as wire:
        code, status = await wire.ask("GET", MAPS)
        assert (code, status["reason"], status["details"]) == (
            429,
            "TooManyRequests",
            {"retryAfterSeconds": 1},
        )
