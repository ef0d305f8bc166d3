"""A container's output on disk."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from longshore.node.keeper.logfile import LogFile
from support.keeper_engine import Engine, kill, until

pytestmark = pytest.mark.anyio

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout [FP] ")


async def test_lines_have_time_stream_and_tag(engine: Engine) -> None:
    state = await engine.run("sh", "-c", "echo one; echo two >&2; printf three")
    lines = (engine.directory / "logs" / f"{state.key.pod_uid}.log").read_text().splitlines()
    assert [LINE.sub("", line) for line in lines] == ["one", "two", "three"]
    assert [line.split()[2] for line in lines] == ["F", "F", "P"]


async def test_no_output_makes_no_file(engine: Engine) -> None:
    await engine.run("true")
    assert not (engine.directory / "logs").exists()


async def test_much_output_arrives_whole(engine: Engine) -> None:
    assert (await engine.output("seq", "1", "50000")).split() == [str(n) for n in range(1, 50001)]


async def test_a_log_that_cannot_be_written_does_not_stop_the_container(engine: Engine) -> None:
    assert (await engine.run("seq", "1", "50000", log=Path("/proc/none/x.log"))).exit_code == 0


def test_long_lines_are_written_in_parts(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path / "log"))
    text = b"x" * 40000
    for start in range(0, 40000, 7000):
        log.feed(text[start : start + 7000])
    log.feed(b"\nshort\n")
    log.close()
    lines = [line.split(" ", 3) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(tag, len(rest)) for _, _, tag, rest in lines] == [
        ("P", 16384),
        ("P", 16384),
        ("F", 7232),
        ("F", 5),
    ]


def test_files_are_rotated_and_the_oldest_dropped(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path / "log"))
    chunk = b"y" * 1000 + b"\n"
    for _ in range(60):
        log.feed(chunk * 1000)
    log.feed(b"last\n")
    log.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["log", "log.1", "log.2", "log.3", "log.4"]
    assert (tmp_path / "log.1").stat().st_size >= 10 << 20
    assert (tmp_path / "log").read_text().endswith("last\n")


@pytest.fixture
def room() -> Iterator[Callable[[int], None]]:
    """Sets how large a file may get, in bytes; a file that would get larger is cut, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def texts(path: Path) -> list[str]:
    """The lines as a reader of the log sees them."""
    return [parts[3] for line in path.read_text().split("\n") if len(parts := line.split(" ", 3)) == 4]


def test_lost_lines_leave_a_mark_once_there_is_room(tmp_path: Path, room: Callable[[int], None]) -> None:
    path = tmp_path / "log"
    log = LogFile(str(path))
    log.feed(b"one\ntwo\n")
    room(path.stat().st_size + 60)  # a line and a half
    log.feed(b"three\nfour\nfive\n")
    log.feed(b"six\n")
    room(1 << 20)
    log.feed(b"seven\n")
    log.close()
    kept = ["one", "two", "three"]
    mark = "longshore: lines of this log are lost: 3 (file too large)"
    assert [text for text in texts(path) if text not in ("f", "fo", "fou")] == [*kept, mark, "seven"]


def test_a_log_that_ends_without_room_gives_up_lines_for_the_mark(
    tmp_path: Path, room: Callable[[int], None]
) -> None:
    path = tmp_path / "log"
    log = LogFile(str(path))
    log.feed(b"".join(b"line %d\n" % number for number in range(100)))
    room(path.stat().st_size)
    log.feed(b"lost\n" * 7)
    log.close()
    *kept, mark = texts(path)
    assert kept == [f"line {number}" for number in range(len(kept))]
    assert mark == f"longshore: lines of this log are lost: {107 - len(kept)} (file too large)"
    assert 90 < len(kept) < 100


def test_lines_are_counted_until_the_mark_is_whole(tmp_path: Path, room: Callable[[int], None]) -> None:
    path = tmp_path / "log"
    log = LogFile(str(path))
    log.feed(b"one\n")
    for more in (0, 20, 40):
        room(path.stat().st_size + more)
        log.feed(b"lost\n")
    room(1 << 20)
    log.close()
    marks = [text for text in texts(path) if text.endswith("(file too large)")]
    assert marks == ["longshore: lines of this log are lost: 3 (file too large)"]


def test_a_log_without_a_byte_of_room_does_no_harm(tmp_path: Path, room: Callable[[int], None]) -> None:
    log = LogFile(str(tmp_path / "log"))
    room(0)
    log.feed(b"lost\n")
    log.close()
    assert (tmp_path / "log").read_bytes() == b""


def lines_of(engine: Engine, uid: str, stream: str) -> list[str]:
    lines = (engine.directory / "logs" / f"{uid}.log").read_text().splitlines()
    return [text for _, found, _, text in (line.split(" ", 3) for line in lines) if found == stream]


async def test_streams_are_told_apart_where_that_is_wanted(engine: Engine) -> None:
    script = "for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf end >&2"
    state = await engine.run("sh", "-c", script, whole_log=True, separate_streams=True)
    uid = state.key.pod_uid
    assert lines_of(engine, uid, "stdout") == ["out 1", "out 2", "out 3"]
    assert lines_of(engine, uid, "stderr") == ["err 1", "err 2", "err 3", "end"]


async def test_much_output_of_both_streams_arrives_whole(engine: Engine) -> None:
    script = "seq 1 30000 & seq 30001 60000 >&2; wait"
    state = await engine.run("sh", "-c", script, whole_log=True, separate_streams=True)
    uid = state.key.pod_uid
    assert lines_of(engine, uid, "stdout") == [str(n) for n in range(1, 30001)]
    assert lines_of(engine, uid, "stderr") == [str(n) for n in range(30001, 60001)]


async def test_one_stream_may_be_closed_while_the_other_goes_on(engine: Engine) -> None:
    script = "echo out; exec >&-; sleep 0.05; echo err >&2"
    state = await engine.run("sh", "-c", script, whole_log=True, separate_streams=True)
    assert lines_of(engine, state.key.pod_uid, "stderr") == ["err"]


async def test_another_keeper_goes_on_to_tell_streams_apart(engine: Engine, tmp_path: Path) -> None:
    script = "echo a; echo b >&2; while [ ! -e go ]; do sleep 0.02; done; seq 1 40000 >&2; echo c; echo d >&2"
    state = await engine.start(
        "sh", "-c", script, whole_log=True, separate_streams=True, working_dir=str(tmp_path)
    )
    await until(lambda: engine.log(state.key).count("\n") == 2)
    old = engine.keeper
    kill(old)
    await until(lambda: engine.keeper != old)
    (tmp_path / "go").touch()
    await engine.end(state.key)
    uid = state.key.pod_uid
    assert lines_of(engine, uid, "stdout") == ["a", "c"]
    assert lines_of(engine, uid, "stderr") == ["b", *map(str, range(1, 40001)), "d"]
