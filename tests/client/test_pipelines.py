"""Writes that build upon each other are not waited for one by one; nobody sees one before it is durable."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from longshore.api.errors import StatusError
from longshore.apiserver.api import Api
from longshore.client import PatchType
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.store import DiskFull, Event, Store
from longshore.store.sqlite import SqliteJournal

MAPS = ("v1", "ConfigMap")


def config_map(name: str, value: str = "1") -> dict[str, object]:
    return {"metadata": {"name": name}, "data": {"a": value}}


async def opened(directory: Path) -> tuple[Store, LocalClient]:
    store = Store.open(directory)
    client = LocalClient(Api(store, clock=RealClock(), rng=random.Random(), shortcuts=True))
    await client.create(("v1", "Namespace"), {"metadata": {"name": "ns"}})
    return store, client


def test_each_write_builds_upon_the_one_before_and_is_told_to_watchers(tmp_path: Path) -> None:
    async def main() -> None:
        store, client = await opened(tmp_path)
        async with client.watch(MAPS, "ns", initial_events=True) as events:
            assert (await anext(events)).type == "BOOKMARK"
            pipeline = client.pipelined()
            made = await pipeline.create(MAPS, config_map("a"), "ns")
            await pipeline.update(MAPS, {**made, "data": {"a": "2"}}, "ns")
            await pipeline.patch(MAPS, "a", {"data": {"a": "3"}}, "ns", type=PatchType.MERGE)
            with pytest.raises(StatusError) as caught:
                await client.get(MAPS, "a", "ns")
            assert caught.value.code == 404
            await pipeline.settled()
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
        pipeline = client.pipelined()
        await pipeline.update(MAPS, {**made, "data": {"a": "2"}}, "ns")
        with pytest.raises(StatusError) as caught:
            await pipeline.update(MAPS, {**made, "data": {"a": "3"}}, "ns")
        assert caught.value.code == 409
        assert (await client.get(MAPS, "a", "ns"))["data"] == {"a": "2"}
        await store.close()

    asyncio.run(main())


def test_what_cannot_be_made_durable_is_told_by_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        store, client = await opened(tmp_path)

        def full(self: SqliteJournal, events: Sequence[Event]) -> None:
            raise DiskFull("no space")

        pipeline = client.pipelined()
        with monkeypatch.context() as patch:
            patch.setattr(SqliteJournal, "append", full)
            answers = await pipeline.create_together(MAPS, [config_map("a"), config_map("b")], "ns")
            assert all(isinstance(answer, dict) for answer in answers)
            with pytest.raises(StatusError, match="Free some space"):
                await pipeline.settled()
        assert (await client.list(MAPS, "ns")).items == []
        await client.settled()
        await store.close()

    asyncio.run(main())
