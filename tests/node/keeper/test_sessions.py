"""Exec, attach, terminals, and what a container uses."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from longshore.node.keeper import exec_sessions
from longshore.node.keeper.frames import Refused
from longshore.node.runtime import CannotStart, Mount, Runtime, Session
from support.keeper_engine import Engine, alive, kill, until
from support.wall_marks import by_pid

pytestmark = pytest.mark.anyio
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="what a user may mount differs between systems")


async def everything(session: Session) -> tuple[str, str, int]:
    streams = {"stdout": b"", "stderr": b""}
    async with asyncio.timeout(10):
        async for name, data in session.output():
            streams[name] += data
        code = await session.wait()
    await session.close()
    return streams["stdout"].decode(), streams["stderr"].decode(), code


def test_it_is_a_runtime(tmp_path: Path) -> None:
    engine: Runtime = Engine(tmp_path).runtime
    assert engine.name == "process"


async def test_exec_has_streams_of_its_own_and_an_exit_code(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    session = await engine.runtime.exec(
        state.key, ("sh", "-c", "echo out; echo err >&2; exit 3"), stdin=False, tty=False
    )
    assert await everything(session) == ("out\n", "err\n", 3)
    assert engine.log(state.key) == ""


async def test_a_command_that_cannot_be_passed_on_is_refused_and_the_keeper_goes_on(engine: Engine) -> None:
    state, keeper = await engine.start("sleep", "100"), engine.keeper
    for command in (("a\0b",), ("echo", "a\0b")):
        with pytest.raises(CannotStart, match="null byte"):
            await engine.runtime.exec(state.key, command, stdin=False, tty=False)
    session = await engine.runtime.exec(state.key, ("true",), stdin=False, tty=False)
    assert await everything(session) == ("", "", 0)
    assert engine.keeper == keeper


async def test_exec_reads_its_input_to_the_end(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    session = await engine.runtime.exec(state.key, ("wc", "-c"), stdin=True, tty=False)
    await session.write(b"x" * 300_000)
    await session.close_input()
    assert await everything(session) == ("300000\n", "", 0)


async def test_exec_gives_much_output_whole_to_a_slow_reader(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    session = await engine.runtime.exec(
        state.key, ("head", "-c", "3000000", "/dev/zero"), stdin=False, tty=False
    )
    await asyncio.sleep(0.05)
    out, _, code = await everything(session)
    assert (len(out), code) == (3_000_000, 0)


@as_root
async def test_exec_runs_where_the_container_runs(engine: Engine, tmp_path: Path) -> None:
    mounts = (Mount(str(tmp_path), "/no-such"),)
    same = {"mounts": mounts, "env": (("A", "b"),), "user": 12345, "working_dir": "/usr"}
    state = await engine.start("sleep", "100", hostname="pod", **same)
    script = "echo $A $(id -u) $(pwd) $(hostname); ls -d /no-such"
    session = await engine.runtime.exec(state.key, ("sh", "-c", script), stdin=False, tty=False)
    assert await everything(session) == ("b 12345 /usr pod\n/no-such\n", "", 0)


@as_root
async def test_exec_works_in_an_adopted_container(engine: Engine, tmp_path: Path) -> None:
    state = await engine.start(
        "sleep",
        "100",
        mounts=(Mount(str(tmp_path), "/no-such"),),
        env=(("A", "b"),),
        user=12345,
        working_dir="/usr",
    )
    old = engine.keeper
    kill(old)
    await until(lambda: engine.keeper != old)
    script = "echo $A $(id -u) $(pwd); ls -d /no-such"
    session = await engine.runtime.exec(state.key, ("sh", "-c", script), stdin=False, tty=False)
    assert await everything(session) == ("b 12345 /usr\n/no-such\n", "", 0)


async def test_exec_with_a_terminal(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    session = await engine.runtime.exec(state.key, ("sh",), stdin=True, tty=True)
    await session.resize(132, 43)
    await session.write(b"tty; stty size; echo $((6*7)) > /dev/tty; exit 5\n")
    out, _, code = await everything(session)
    assert "/dev/pts/" in out
    assert "43 132" in out
    assert "42" in out
    assert code == 5


async def test_a_terminal_hands_on_the_interrupt_key(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    session = await engine.runtime.exec(state.key, ("sleep", "100"), stdin=True, tty=True)
    await asyncio.sleep(0.1)
    await session.write(b"\x03")
    assert (await everything(session))[2] == 130


async def test_a_command_that_is_not_there_is_refused(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    with pytest.raises(CannotStart, match="executable file not found"):
        await engine.runtime.exec(state.key, ("nope",), stdin=False, tty=False)


async def test_an_exec_that_is_refused_keeps_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def somebody_elses(entry: object) -> None:
        raise PermissionError

    monkeypatch.setattr(exec_sessions, "_circumstances", somebody_elses)
    near, far = os.pipe()
    connection, nothing = SimpleNamespace(descriptors=[near, far]), cast(Any, None)
    with pytest.raises(Refused):
        exec_sessions.execute(
            cast(Any, connection), 1, nothing, (["true"], False, False), nothing, nothing, nothing, {}
        )
    for fd in (near, far):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


async def test_an_ended_container_takes_no_exec(engine: Engine) -> None:
    ended = await engine.run("true")
    with pytest.raises(CannotStart, match="the container is not running"):
        await engine.runtime.exec(ended.key, ("true",), stdin=False, tty=False)


@by_pid
async def test_closing_the_session_kills_the_command_but_not_the_container(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    session = await engine.runtime.exec(state.key, ("sh", "-c", "echo $$; sleep 100"), stdin=False, tty=False)
    _, first = await anext(aiter(session.output()))
    await session.close()
    await until(lambda: not alive(int(first)))
    assert alive(state.pid)


async def test_commands_end_with_their_container(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    session = await engine.runtime.exec(state.key, ("sleep", "100"), stdin=False, tty=False)
    kill(state.pid)
    assert (await everything(session))[2] == 137


async def test_attach_shows_what_comes_and_gives_the_input_once(engine: Engine) -> None:
    state = await engine.start("sh", "-c", "cat; echo done; exit 4", stdin=True, stdin_once=True)
    session = await engine.runtime.attach(state.key)
    await session.write(b"hello\n")
    await session.close_input()
    assert await everything(session) == ("hello\ndone\n", "", 4)
    assert engine.log(state.key) == "hello\ndone\n"


async def test_an_input_that_is_not_for_once_stays_open(engine: Engine) -> None:
    state = await engine.start("sh", "-c", "read a; read b; echo $a $b", stdin=True)
    for word in (b"one\n", b"two\n"):
        session = await engine.runtime.attach(state.key)
        await session.write(word)
        await session.close()
    await engine.end(state.key)
    assert engine.log(state.key) == "one two\n"


async def test_an_attached_reader_that_does_not_read_costs_a_bounded_amount_of_memory(engine: Engine) -> None:
    state = await engine.start("sh", "-c", "read go; head -c 30000000 /dev/zero; exit 3", stdin=True)
    session = await engine.runtime.attach(state.key)
    await session.write(b"go\n")
    await engine.end(state.key)
    out, _, code = await everything(session)
    assert 0 < len(out) < 8 << 20
    assert code == 3


async def test_leaving_an_attached_session_leaves_the_container(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    session = await engine.runtime.attach(state.key)
    await session.close()
    await asyncio.sleep(0.05)
    assert alive(state.pid)


async def test_a_container_with_a_terminal(engine: Engine) -> None:
    state = await engine.start("sh", stdin=True, tty=True)
    session = await engine.runtime.attach(state.key)
    await session.resize(100, 30)
    await session.write(b"tty; stty size; exit 6\n")
    out, _, code = await everything(session)
    assert "/dev/pts/" in out
    assert "30 100" in out
    assert code == 6
    assert "/dev/pts/" in engine.log(state.key)


async def test_usage_counts_the_whole_tree(engine: Engine) -> None:
    burn = "import time\nx = bytearray(50 << 20)\nwhile time.process_time() < 0.3: pass\ntime.sleep(100)"
    state = await engine.start("sh", "-c", f"/usr/bin/env python3 -c '{burn}'; true")
    other = await engine.run("true")
    async with asyncio.timeout(10):
        while True:
            used = await engine.runtime.usage([state.key, other.key])
            if used[state.key].cpu_seconds >= 0.25 and used[state.key].memory > 50 << 20:
                break
            await asyncio.sleep(0.05)
    assert list(used) == [state.key]


async def test_it_says_what_it_can(engine: Engine) -> None:
    features = await engine.runtime.features()
    assert features.limits in ("cgroup v2", "rlimits and sampling")
    if features.limits != "cgroup v2":
        assert any("CPU limits are not enforced" in note for note in features.notes)
    assert features.mounts or any("Volumes cannot be mounted" in note for note in features.notes)


async def test_a_command_run_beside_a_container_has_no_descriptor_but_its_three(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    session = await engine.runtime.exec(
        state.key, ("sh", "-c", "ls -l /proc/$$/fd; :"), stdin=True, tty=False
    )
    await session.close_input()
    out, _, _ = await everything(session)
    assert out.count(" -> ") == 3, out


async def test_a_container_has_no_descriptor_but_its_three(engine: Engine) -> None:
    out = await engine.output("sh", "-c", "ls -l /proc/$$/fd; :")
    assert out.count(" -> ") == 3, out
