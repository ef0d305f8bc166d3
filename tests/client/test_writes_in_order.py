"""Writes that build upon each other are not waited for one by one; nobody sees one before it is durable."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from longshore.api.errors import StatusError
from longshore.apiserver.api import Api, ApiParts
from longshore.client import PatchType
from longshore.client.http import HttpClient
from longshore.client.local import LocalClient
from longshore.client.writes import Create
from longshore.machinery.time.clock import RealClock
from longshore.store import DiskFull, Event, Store
from longshore.store.sqlite import SqliteJournal

MAPS = ("v1", "ConfigMap")


def config_map(name: str, value: str = "1") -> dict[str, object]:
    return {"metadata": {"name": name}, "data": {"a": value}}


async def opened(directory: Path) -> tuple[Store, LocalClient]:
    store = Store.open(directory)
    client = LocalClient(Api(ApiParts(store, RealClock(), random.Random(), shortcuts=True)))
    await client.create(("v1", "Namespace"), {"metadata": {"name": "ns"}})
    return store, client


def test_each_write_builds_upon_the_one_before_and_is_told_to_watchers(tmp_path: Path) -> None:
    async def main() -> None:
        store, client = await opened(tmp_path)
        async with client.watch(MAPS, "ns", initial_events=True) as events:
            assert (await anext(events)).type == "BOOKMARK"
            ordered = client.in_order()
            made = await ordered.create(MAPS, config_map("a"), "ns")
            await ordered.update(MAPS, {**made, "data": {"a": "2"}}, "ns")
            await ordered.patch(MAPS, "a", {"data": {"a": "3"}}, "ns", type=PatchType.MERGE)
            with pytest.raises(StatusError) as caught:
                await client.get(MAPS, "a", "ns")
            assert caught.value.code == 404
            await ordered.durable()
            assert (await client.get(MAPS, "a", "ns"))["data"] == {"a": "3"}
            told = [await anext(events) for _ in range(3)]
            assert [(e.type, e.object["data"]["a"]) for e in told] == [
                ("ADDED", "1"),
                ("MODIFIED", "2"),
                ("MODIFIED", "3"),
            ]
        await store.close()

    asyncio.run(main())


def test_a_conflict_is_told_when_it_can_be_read(tmp_path: Path) -> None:
    async def main() -> None:
        store, client = await opened(tmp_path)
        made = await client.create(MAPS, config_map("a"), "ns")
        ordered = client.in_order()
        await ordered.update(MAPS, {**made, "data": {"a": "2"}}, "ns")
        with pytest.raises(StatusError) as caught:
            await ordered.update(MAPS, {**made, "data": {"a": "3"}}, "ns")
        assert caught.value.code == 409
        assert (await client.get(MAPS, "a", "ns"))["data"] == {"a": "2"}
        await store.close()

    asyncio.run(main())


def test_what_cannot_be_made_durable_is_told_by_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        store, client = await opened(tmp_path)

        def full(self: SqliteJournal, events: Sequence[Event]) -> None:
            raise DiskFull("no space")

        ordered = client.in_order()
        with monkeypatch.context() as patch:
            patch.setattr(SqliteJournal, "append", full)
            answers = await ordered.write([Create(MAPS, config_map(name), "ns") for name in ("a", "b")])
            assert all(isinstance(answer, dict) for answer in answers)
            with pytest.raises(StatusError, match="Free some space"):
                await ordered.durable()
        assert (await client.list(MAPS, "ns")).items == []
        await client.durable()
        await store.close()

    asyncio.run(main())


def test_over_http_writes_are_durable_when_they_are_answered() -> None:
    client = HttpClient.__new__(HttpClient)
    assert client.in_order() is client
    asyncio.run(client.durable())
