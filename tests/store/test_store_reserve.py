"""A disk that others have filled still takes changes and deletions, also after a start; new objects wait."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from longshore.store import DiskFull, Store, reserve
from store.store_support import key, names, opened, put, thing
from support.small_disk import small_disk

TEXT = "x" * 2_000


@pytest.fixture(params=["64m", "20m"])
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", f"size={request.param}") as disk:
        yield disk


@pytest.fixture(autouse=True)
def _look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "_LOOK_SECONDS", 0.0)


def fill(file: Path) -> None:
    """Takes all the room there is."""
    with suppress(OSError), file.open("wb", buffering=0) as handle:
        for size in (1 << 20, 4096):
            with suppress(OSError):
                while handle.write(bytes(size)):
                    pass


async def create(store: Store, name: str) -> None:
    store.check_room()
    await put(store, name, TEXT)


async def create_until_refused(store: Store) -> list[str]:
    done: list[str] = []
    with suppress(DiskFull):
        while True:
            await create(store, f"p{len(done):05}")
            done.append(f"p{len(done):05}")
            assert len(done) < 3000, "never refused"
    return done


async def delete(store: Store, name: str) -> None:
    await store.stage_delete(key(name), thing(name)).done()


def test_objects_can_be_changed_and_deleted_on_a_full_disk(disk: Path) -> None:
    async def run() -> None:
        async with opened(disk / "data") as store:
            done = [f"p{number:05}" for number in range(200)]
            for name in ("first", *done):
                await create(store, name)
            fill(disk / "filler")
            assert await create_until_refused(store) == [], "the first one is refused"
            assert store.is_short
            for _ in range(2000):  # several times what is held
                await put(store, "first", TEXT)
            for name in done:
                await delete(store, name)
            assert names(store.list("pods")) == ["first"]
            (disk / "filler").unlink()
            await create(store, "works")
            assert not store.is_short
        async with opened(disk / "data") as again:
            assert names(again.list("pods")) == ["first", "works"]

    asyncio.run(run())


def test_a_start_on_a_full_disk_lets_people_delete(disk: Path) -> None:
    async def run() -> None:
        async with opened(disk / "data") as store:
            for number in range(50):
                await create(store, f"p{number}")
        fill(disk / "filler")
        async with opened(disk / "data") as store:
            with pytest.raises(DiskFull, match="new objects are refused; changes and deletions are not"):
                await create(store, "new")
            for number in range(49):
                await delete(store, f"p{number}")
            (disk / "filler").unlink()
            await create(store, "new")
            assert (disk / "data" / "reserve").stat().st_blocks * 512 >= 512 << 10
        async with opened(disk / "data") as store:
            assert names(store.list("pods")) == ["new", "p49"]

    asyncio.run(run())


def test_a_disk_without_room_for_the_reserve_refuses_new_objects_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = True

    def fallocate(fd: int, length: int) -> None:
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(reserve, "_fallocate", fallocate)

    async def run() -> None:
        nonlocal full
        async with opened(tmp_path) as store:
            await put(store, "here", TEXT)
            with pytest.raises(DiskFull):
                await create(store, "new")
            await delete(store, "here")
            full = False
            await create(store, "new")

    asyncio.run(run())


def test_a_file_system_that_cannot_hold_room_is_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fallocate(fd: int, length: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(reserve, "_fallocate", fallocate)

    async def run() -> None:
        async with opened(tmp_path) as store:
            await create(store, "new")
            assert not store.is_short

    asyncio.run(run())


def test_what_is_held_is_given_back_when_the_store_closes(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as store:
            await create(store, "new")
            held = (tmp_path / "journal.db").stat()
            assert held.st_blocks * 512 > held.st_size + (3 << 20)
        after = (tmp_path / "journal.db").stat()
        assert after.st_blocks * 512 < after.st_size + (1 << 20)

    asyncio.run(run())
