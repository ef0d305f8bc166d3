"""A damaged journal: `longshore up` refuses it by name, says what to do, and leaves it alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from up.crash.up_process import UpProcess

pytestmark = pytest.mark.anyio


async def filled(data: Path, *, cleanly: bool) -> None:
    """A data directory with some objects, left by a clean stop or by a kill."""
    process = UpProcess(data)
    try:
        async with process.serving() as http:
            for number in range(40):
                body = {"metadata": {"name": f"m{number}"}, "data": {"k": f"value-{number:04}" + "x" * 500}}
                code, answer = await http("POST", "/api/v1/namespaces/default/configmaps", body)
                assert code == 201, answer
        if cleanly:
            assert process.stop() == 0
    finally:
        process.kill()


def refused(data: Path) -> str:
    """What a longshore that must not start says."""
    process = UpProcess(data)
    try:
        before = len(process.said())
        assert process.wait() == 1
    finally:
        process.kill()
    return process.said()[before:]


def overwrite(file: Path, offset: int, data: bytes) -> None:
    with file.open("r+b") as handle:
        handle.seek(offset)
        handle.write(data)


def contents(data: Path) -> dict[str, bytes]:
    """The journal and its log; whoever reads them may leave an empty log and SQLite's index behind."""
    files = (data / "journal.db", data / "journal.db-wal")
    return {file.name: file.read_bytes() for file in files if file.exists() and file.stat().st_size}


def damage_page(data: Path) -> None:
    overwrite(data / "journal.db", 2 * 8192, b"\xa5" * 8192)


def damage_header(data: Path) -> None:
    overwrite(data / "journal.db", 0, b"\xa5" * 100)


def damage_value(data: Path) -> None:
    overwrite(data / "journal.db", (data / "journal.db").read_bytes().index(b"value-0020"), b"Value")


def damage_log(data: Path) -> None:
    overwrite(data / "journal.db-wal", 20_000, b"\xa5" * 100)


@pytest.mark.parametrize(
    ("damage", "cleanly"),
    [(damage_page, True), (damage_header, True), (damage_value, True), (damage_log, False)],
    ids=["a page", "the header", "one object", "the log"],
)
async def test_a_damaged_journal_is_refused_and_left_alone(
    tmp_path: Path, damage: Callable[[Path], None], cleanly: bool
) -> None:
    data = tmp_path / "data"
    await filled(data, cleanly=cleanly)
    damage(data)
    before = contents(data)
    for _ in range(2):
        said = refused(data)
        assert "The journal is damaged" in said
        assert str(data / "journal.db") in said
        assert "restore a backup" in said
        assert "Traceback" not in said
    assert contents(data) == before
