"""`longshore status` tells how much is kept of what is over, beside the limits that `up --keep` sets."""

from __future__ import annotations

import asyncio
from pathlib import Path

from longshore.api.retention import Retention
from longshore.cli.commands import status
from longshore.store import Key
from longshore.up import own_pages
from store.store_support import opened, put


def test_the_figures_are_those_of_the_store_beside_the_limits() -> None:
    async def run() -> None:
        limits = Retention(events=7, history=3, reasons_age=60.0)
        async with opened(None, retention=limits) as store:
            await put(store, "", at=Key("events", "default", "e"))
            store.reasons.add(1.0, 5, b"x")
            page = own_pages.kept_page(store, limits)
            kept = page("")
            assert kept is not None
            assert kept["events"] == {"count": 1, "limit": 7, "ageSeconds": 3600.0}
            assert kept["history"] == {"count": 0, "limit": 3, "ageSeconds": 30 * 86400.0}
            assert kept["reasons"] == {"count": 5, "limit": 30_000, "ageSeconds": 60.0}
            assert kept["failed"] == {"count": 0, "limit": 3, "ageSeconds": 30 * 86400.0}
            assert status._kept_text(kept).startswith(
                "1 of 7 events (60m), 0 of 3 ended Jobs (30d), 0 of 3 failed Jobs (30d)"
            )
            assert page("/more") is None

    asyncio.run(run())


def test_the_disk_is_told_by_what_grows_on_it(tmp_path: Path) -> None:
    (tmp_path / "node" / "logs" / "pod").mkdir(parents=True)
    (tmp_path / "node" / "logs" / "pod" / "0.log").write_bytes(b"x" * 10_000)
    (tmp_path / "journal.db").write_bytes(b"x" * 300)
    (tmp_path / "journal.db-wal").write_bytes(b"x" * 30)
    found = status._disk(tmp_path)
    assert (found["journal"], found["runs"]) == (330, 0)
    assert found["logs"] >= 10_000
