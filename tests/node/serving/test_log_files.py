"""Reading a container's log from its files: which lines, in which form, across rotation, until the end."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from longshore.api.container_streams import LogOptions
from longshore.machinery.time.clock import RealClock
from longshore.node.serving import logs

pytestmark = pytest.mark.anyio


def line(number: int, text: str = "", tag: str = "F") -> bytes:
    return f"2026-11-16T00:00:{number:02d}.000000000Z stdout {tag} {text or f'line {number}'}\n".encode()


def over() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


def rotate(path: Path) -> None:
    for age in range(4, 0, -1):
        older = Path(f"{path}.{age - 1}" if age > 1 else str(path))
        if older.exists():
            older.rename(f"{path}.{age}")


async def text(path: Path, since: bytes = b"", **options: object) -> str:
    chunks = [c async for c in logs.read(path, LogOptions(**options), since, over(), RealClock())]  # type: ignore[arg-type]
    return b"".join(chunks).decode()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "0.log"
    (tmp_path / "0.log.2").write_bytes(line(1) + line(2))
    (tmp_path / "0.log.1").write_bytes(line(3))
    path.write_bytes(line(4) + line(5))
    return path


async def test_no_file_is_an_empty_log(tmp_path: Path) -> None:
    assert await text(tmp_path / "0.log") == ""
    assert await text(tmp_path / "0.log", tail_lines=3) == ""
    assert await text(tmp_path / "0.log", follow=True) == ""


async def test_rotated_files_come_first(log: Path) -> None:
    assert await text(log) == "line 1\nline 2\nline 3\nline 4\nline 5\n"


async def test_a_log_that_rotates_all_the_time_is_read_as_it_is(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_same", lambda *_: False)
    assert await text(log) == "line 1\nline 2\nline 3\nline 4\nline 5\n"


async def test_a_log_just_rotated_has_no_current_file(log: Path) -> None:
    os.unlink(log)
    assert await text(log) == "line 1\nline 2\nline 3\n"


@pytest.mark.parametrize(
    ("lines", "first"), [(0, 6), (1, 5), (2, 4), (3, 3), (4, 2), (5, 1), (6, 1), (1000, 1)]
)
async def test_the_tail_reaches_into_rotated_files(log: Path, lines: int, first: int) -> None:
    expected = "".join(f"line {n}\n" for n in range(first, 6))
    assert await text(log, tail_lines=lines) == expected
    assert await text(log, tail_lines=lines, follow=True) == expected


async def test_the_tail_of_a_long_file(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(b"".join(line(n % 60, f"text {n} " + "x" * 50) for n in range(5000)))
    assert (await text(path, tail_lines=3500)).splitlines()[0].startswith("text 1500 ")
    assert len((await text(path)).splitlines()) == 5000


async def test_lines_before_a_time_are_left_out(log: Path) -> None:
    assert await text(log, b"2026-11-16T00:00:04.000000000Z") == "line 4\nline 5\n"


async def test_time_stamps_stand_before_lines_not_parts(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(line(1, "be", "P") + line(2, "gin") + line(3, "rest", "P"))
    assert await text(path) == "begin\nrest"
    shown = await text(path, timestamps=True)
    assert shown == "2026-11-16T00:00:01.000000000Z begin\n2026-11-16T00:00:03.000000000Z rest"


async def test_no_more_bytes_than_asked_for(log: Path) -> None:
    assert await text(log, limit_bytes=9) == "line 1\nli"


async def test_a_follower_sees_lines_as_they_come_and_ends_with_the_container(tmp_path: Path) -> None:
    path, ended = tmp_path / "0.log", asyncio.Event()
    chunks = logs.read(path, LogOptions(follow=True), b"", ended, RealClock())
    waiting = asyncio.ensure_future(anext(chunks))
    await asyncio.sleep(0.03)
    path.write_bytes(line(1))
    assert await waiting == b"line 1\n"
    with path.open("ab") as file:
        file.write(line(2)[:-3])  # a line half written is not shown yet
        file.flush()
        waiting = asyncio.ensure_future(anext(chunks))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        file.write(line(2)[-3:])
    assert await waiting == b"line 2\n"
    with path.open("ab") as file:
        file.write(line(3))
    ended.set()
    assert [c async for c in chunks] == [b"line 3\n"]


async def test_a_follower_misses_nothing_when_files_rotate(tmp_path: Path) -> None:
    path, ended = tmp_path / "0.log", asyncio.Event()
    path.write_bytes(line(0))
    chunks = logs.read(path, LogOptions(follow=True), b"", ended, RealClock())
    seen = [await anext(chunks)]

    async def collect() -> None:
        async for chunk in chunks:
            seen.append(chunk)

    task = asyncio.create_task(collect())
    for number in range(1, 30):
        with path.open("ab") as file:
            file.write(line(number))
        if number % 3 == 0:
            rotate(path)
            await asyncio.sleep(0.03)
    ended.set()
    await asyncio.wait_for(task, 60)
    assert b"".join(seen).decode() == "".join(f"line {n}\n" for n in range(30))


async def test_one_stream_can_be_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(
        b"".join(
            b"2026-11-16T00:00:00.%09dZ %b F %d\n" % (number, stream, number)
            for number, stream in enumerate([b"stdout", b"stderr", b"stderr", b"stdout"])
        )
    )
    assert await text(path, stream="Stdout") == "0\n3\n"
    assert await text(path, stream="Stderr") == "1\n2\n"
    assert await text(path) == "0\n1\n2\n3\n"
