"""A full or failing disk: the write is refused in clear words, nothing is lost, and it works again after."""

from __future__ import annotations

import asyncio
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from longshore.store import DiskFull, Durability, JournalUnusable, Store, WriteFailed
from store.store_support import key, left_by_a_kill, names, nothing_more, opened, put, thing
from support.small_disk import small_disk

BIG = "x" * 20_000


async def write_until_refused(store: Store, error: type[WriteFailed]) -> list[str]:
    """The names that were acknowledged."""
    done: list[str] = []
    while True:
        name = f"p{len(done):04}"
        try:
            await put(store, name, BIG)
        except error:
            return done
        done.append(name)
        assert len(done) < 5000, "never refused"


async def check_refusal(
    directory: Path,
    copy: Path,
    durability: Durability,
    error: type[WriteFailed],
    room: Callable[[Store], object],
) -> None:
    """Fills the disk, looks at what is left, makes room again, and looks at what a restart finds."""
    async with opened(directory, durability=durability) as store:
        done = await write_until_refused(store, error)
        assert done
        assert names(store.list("pods")) == done
        watch = store.watch("pods")
        refused = store.stage(key("p0000"), thing("p0000", BIG))
        also = store.stage(key("q"), thing("q", BIG))
        for staged in (refused, also):
            with pytest.raises(error):
                await staged.done()
        assert store.latest(key("q")) is None
        assert await nothing_more(watch)
        killed = left_by_a_kill(directory, copy)
        room(store)
        after = await put(store, "works", BIG)
        assert after.revision > also.entry.revision
        assert [event.key.name for event in await anext(watch)] == ["works"]
    async with opened(directory, durability=durability) as again:
        assert names(again.list("pods")) == [*done, "works"]
        assert again.revision == after.revision
    async with opened(killed) as then:
        assert names(then.list("pods")) == done


def grow_up_to(pages: int, store: Store) -> None:
    """Lets SQLite itself refuse to grow the file: the same error as from a full disk."""
    assert store._disk is not None
    store._disk.journal._db.execute(f"PRAGMA max_page_count = {pages}")


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_when_the_database_may_not_grow(tmp_path: Path, durability: Durability) -> None:
    async def run() -> None:
        async with opened(tmp_path, durability=durability) as store:
            grow_up_to(100, store)
            done = await write_until_refused(store, DiskFull)
            assert names(store.list("pods")) == done
            grow_up_to(1000, store)
            await put(store, "works", BIG)
        async with opened(tmp_path) as again:
            assert names(again.list("pods")) == [*done, "works"]

    asyncio.run(run())


@contextmanager
def files_no_longer_than(limit: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_when_the_system_refuses_to_write(tmp_path: Path, durability: Durability) -> None:
    with files_no_longer_than(2 << 20):
        unlimited = (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        asyncio.run(
            check_refusal(
                tmp_path / "data",
                tmp_path / "copy",
                durability,
                WriteFailed,
                lambda store: resource.setrlimit(resource.RLIMIT_FSIZE, unlimited),
            )
        )


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "size=4m") as disk:
        yield disk


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_when_the_disk_is_full(disk: Path, tmp_path: Path, durability: Durability) -> None:
    (disk / "other").write_bytes(bytes(2 << 20))
    asyncio.run(
        check_refusal(
            disk / "data",
            tmp_path / "copy",
            durability,
            DiskFull,
            lambda store: (disk / "other").unlink(),
        )
    )


def fill(file: Path) -> None:
    """Takes all the room there is."""
    with suppress(OSError), file.open("wb", buffering=0) as handle:
        while handle.write(bytes(4096)):
            pass


def test_a_start_on_a_full_disk_fails_in_clear_words_and_loses_nothing(disk: Path, tmp_path: Path) -> None:
    (disk / "other").write_bytes(bytes(1 << 20))

    async def run() -> list[str]:
        async with opened(disk / "data") as store:
            done = await write_until_refused(store, DiskFull)
            left_by_a_kill(disk / "data", tmp_path / "copy")
        return done

    done = asyncio.run(run())
    shutil.rmtree(disk / "data")
    shutil.copytree(tmp_path / "copy", disk / "data")
    fill(disk / "filler")
    with pytest.raises(JournalUnusable, match="free space"):
        Store.open(disk / "data")
    (disk / "filler").unlink()
    (disk / "other").unlink()

    async def again() -> None:
        async with opened(disk / "data") as store:
            assert names(store.list("pods")) == done

    asyncio.run(again())
