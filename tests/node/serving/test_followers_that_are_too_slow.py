"""A follower that cannot keep up with a log says how much of it went by; a log wanted whole loses nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from longshore.api.container_streams import LogOptions
from longshore.machinery.time.clock import RealClock
from longshore.node.keeper import logfile
from longshore.node.keeper.logfile import LogFile
from longshore.node.serving import logs

pytestmark = pytest.mark.anyio
TEXT = b"x" * 99 + b"\n"


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "_MAX_FILE_BYTES", 1000)


def files(directory: Path) -> list[str]:
    return [file.name for file in directory.iterdir()]


def stored(path: Path) -> int:
    """Bytes in all files of a log."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


async def follow(path: Path, meanwhile: int, *, whole: bool = False, tail: int | None = None) -> str:
    """What a follower shows who sees one line and then, after `meanwhile` more, all the others."""
    log, ended = LogFile(str(path), whole=whole), asyncio.Event()
    log.feed(b"first\n")
    options = LogOptions(follow=True, tail_lines=tail)
    shown = b""
    async for chunk in logs.read(path, options, b"", ended, RealClock()):
        shown += chunk
        if not ended.is_set():
            for _ in range(meanwhile):
                log.feed(TEXT)
            log.feed(b"last\n")
            log.close()
            ended.set()
    return shown.decode()


@pytest.mark.parametrize("lines", [0, 1, 7, 8, 20, 30])
async def test_a_follower_within_the_files_kept_misses_nothing(tmp_path: Path, lines: int) -> None:
    assert await follow(tmp_path / "0.log", lines) == "first\n" + TEXT.decode() * lines + "last\n"


async def test_a_follower_that_was_overtaken_says_how_many_bytes_are_lost(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    shown = await follow(path, 100)
    assert shown.startswith("first\n")
    assert shown.endswith(TEXT.decode() + "last\n")
    (said,) = [line for line in shown.splitlines() if "lost" in line]
    words = said.split()
    assert words[0] == "longshore:"
    assert words[2:] == [
        "bytes",
        "of",
        "this",
        "log",
        "are",
        "lost:",
        "they",
        "came",
        "faster",
        "than",
        "they",
        "were",
        "read",
    ]
    seen = shown.count(TEXT.decode())
    assert int(words[1]) == pytest.approx((100 - seen) * 140, rel=0.1)
    assert stored(path) < 6000


async def test_a_log_wanted_whole_is_kept_and_shown_whole(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    assert await follow(path, 100, whole=True) == "first\n" + TEXT.decode() * 100 + "last\n"
    assert files(tmp_path) == ["0.log"]


def test_another_keeper_goes_on_counting(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    for _ in range(3):
        log = LogFile(str(path))
        for _ in range(7):
            log.feed(TEXT)
        log.close()
    oldest, older, newest = (Path(f"{path}{end}") for end in (".2", ".1", ""))
    assert mark(older) == oldest.stat().st_size
    assert mark(newest) == oldest.stat().st_size + older.stat().st_size


def mark(file: Path) -> int:
    """The number in its first line."""
    _, _, kind, number = file.read_text().splitlines()[0].split()
    assert kind == "R"
    return int(number)


@pytest.mark.parametrize("lines", [1, 2, 8, 9])
async def test_the_last_lines_are_counted_without_the_marks(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "0.log"
    log, ended = LogFile(str(path)), asyncio.Event()
    for number in range(20):
        log.feed(b"%d " % number + TEXT)
    log.close()
    ended.set()
    shown = b"".join(
        [c async for c in logs.read(path, LogOptions(tail_lines=lines), b"", ended, RealClock())]
    ).decode()
    assert [int(line.split()[0]) for line in shown.splitlines()] == [*range(20 - lines, 20)]
