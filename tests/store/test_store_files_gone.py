"""Files of the journal that somebody removes while longshore runs: writes are refused, not lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from longshore.store import Store, WriteFailed
from longshore.store.errors import JournalGone
from store.store_support import names, opened, put

pytestmark = pytest.mark.long


def replace(file: Path) -> None:
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content)


async def writing(store: Store) -> None:
    async with asyncio.timeout(20):
        while True:
            await put(store, "after")
            await asyncio.sleep(0.05)


async def missing(store: Store, wanted: bool) -> None:
    async with asyncio.timeout(20):
        while (store.missing_file is not None) is not wanted:  # noqa: ASYNC110 - the store looks once a second
            await asyncio.sleep(0.05)


HARM: dict[str, tuple[str, Callable[[Path], None]]] = {
    "the database is removed": ("journal.db", Path.unlink),
    "the log is removed": ("journal.db-wal", Path.unlink),
    "the database is replaced by a copy": ("journal.db", replace),
}


@pytest.mark.parametrize("harm", HARM)
def test_writes_are_refused_soon_after(tmp_path: Path, harm: str) -> None:
    name, harmed = HARM[harm]

    async def run() -> None:
        async with opened(tmp_path) as store:
            await put(store, "before")
            assert store.missing_file is None
            harmed(tmp_path / name)
            with pytest.raises(JournalGone) as refused:
                await writing(store)
            assert refused.value.detail == str(store.missing_file) == str(tmp_path / name)
            assert "before" in names(store.list("pods")), "what is there can be read"
            with pytest.raises(WriteFailed):
                await put(store, "later")

    asyncio.run(run())


def test_files_that_are_put_back_are_written_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "data") as store:
            await put(store, "before")
            (tmp_path / "data").rename(tmp_path / "away")
            await missing(store, True)
            (tmp_path / "away").rename(tmp_path / "data")
            await missing(store, False)
            await put(store, "after")
        async with opened(tmp_path / "data") as again:
            assert names(again.list("pods")) == ["after", "before"]

    asyncio.run(run())
