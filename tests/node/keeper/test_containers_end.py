"""Exit codes, signals, commands that cannot be started, and what a container leaves behind."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from longshore.node.runtime import CannotStart
from support.keeper_engine import Engine, alive, until
from support.wall_marks import by_pid

pytestmark = pytest.mark.anyio


async def test_the_exit_code_is_told_with_times_and_reason(engine: Engine) -> None:
    done = await engine.run("true")
    assert (done.phase, done.exit_code, done.reason) == ("exited", 0, "Completed")
    assert 0 < done.started_at <= done.finished_at
    failed = await engine.run("sh", "-c", "exit 42")
    assert (failed.exit_code, failed.signal, failed.reason) == (42, 0, "Error")


async def test_an_end_is_told_while_others_asked_for_with_it_are_yet_to_be_started(engine: Engine) -> None:
    starts = [engine.runtime.start(engine.container("true")) for _ in range(40)]
    begun = await asyncio.gather(*starts)
    ended = [await engine.end(state.key) for state in begun]
    assert min(state.finished_at for state in ended) < max(state.started_at for state in begun)


async def test_a_signal_counts_as_shells_count(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    await engine.runtime.signal(state.key, signal.SIGTERM)
    ended = await engine.end(state.key)
    assert (ended.exit_code, ended.signal) == (143, 15)


async def test_args_follow_the_command(engine: Engine) -> None:
    assert await engine.output("echo", args=("a b", "c")) == "a b c\n"


async def test_the_environment_has_the_containers_own_and_what_programs_need(engine: Engine) -> None:
    text = await engine.output(
        "sh", "-c", 'echo "$GREETING $PATH $LONGSHORE_CONTAINER"', env=(("GREETING", "hi"),)
    )
    greeting, path, tag = text.split()
    assert (greeting, path) == ("hi", os.environ["PATH"])
    assert tag.endswith("/main/0")


async def test_it_begins_in_its_working_directory(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "work.sh").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "work.sh").chmod(0o755)
    assert await engine.output("./work.sh", working_dir=str(tmp_path)) == f"{tmp_path}\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("nope", 'exec: "nope": executable file not found in $PATH'),
        ("/no/such", 'exec: "/no/such": stat /no/such: no such file or directory'),
        ("/etc/passwd", 'exec: "/etc/passwd": permission denied'),
        ("/etc", 'exec: "/etc": is a directory'),
    ],
)
async def test_a_command_that_cannot_run_is_refused(engine: Engine, command: str, message: str) -> None:
    with pytest.raises(CannotStart) as refused:
        await engine.start(command)
    assert (refused.value.reason, refused.value.message) == ("RunContainerError", message)


async def test_a_missing_working_directory_is_refused(engine: Engine) -> None:
    with pytest.raises(CannotStart, match=r'chdir to cwd \("/no/where"\) failed: no such file or directory'):
        await engine.start("true", working_dir="/no/where")


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        (("echo", "a\0b"), {}),
        (("a\0b",), {}),
        (("/bin/a\0b",), {}),
        (("true",), {"working_dir": "/a\0b"}),
    ],
)
async def test_what_cannot_be_passed_to_a_program_is_refused_and_the_keeper_goes_on(
    engine: Engine, command: tuple[str, ...], fields: dict[str, str]
) -> None:
    keeper = engine.keeper
    with pytest.raises(CannotStart, match="null byte"):
        await engine.start(*command, **fields)
    assert (await engine.run("true")).exit_code == 0
    assert engine.keeper == keeper


async def test_without_a_command_it_says_that_there_is_no_image(engine: Engine) -> None:
    with pytest.raises(CannotStart, match="no command specified"):
        await engine.start()


async def test_a_key_that_was_refused_may_be_tried_again(engine: Engine, tmp_path: Path) -> None:
    late = tmp_path / "late"
    container = engine.container(str(late))
    with pytest.raises(CannotStart):
        await engine.runtime.start(container)
    late.write_text("#!/bin/sh\nexit 7\n")
    late.chmod(0o755)
    await engine.runtime.start(container)
    assert (await engine.end(container.key)).exit_code == 7


@by_pid
async def test_children_in_the_background_do_not_keep_it_alive(engine: Engine, tmp_path: Path) -> None:
    script = "sleep 100 & echo $! > pids; setsid sleep 100 & echo $! >> pids; sleep 0.1; exit 3"
    ended = await engine.run("sh", "-c", script, working_dir=str(tmp_path))
    assert ended.exit_code == 3
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    await until(lambda: not any(alive(pid) for pid in pids))


@by_pid
async def test_one_that_hid_by_clearing_its_environment_is_found_when_nothing_else_runs(
    engine: Engine, tmp_path: Path
) -> None:
    script = "env -i setsid sleep 100 & echo $! > pid; sleep 0.1"
    await engine.run("sh", "-c", script, working_dir=str(tmp_path))
    hidden = int((tmp_path / "pid").read_text())
    await until(lambda: not alive(hidden))


@by_pid
async def test_kill_reaches_descendants_that_left_the_group(engine: Engine, tmp_path: Path) -> None:
    script = "setsid sh -c 'setsid sleep 100 & echo $! > below; sleep 100' & echo started; wait"
    state = await engine.start("sh", "-c", script, working_dir=str(tmp_path))
    await until(lambda: (tmp_path / "below").exists() and (tmp_path / "below").read_text())
    below = int((tmp_path / "below").read_text())
    assert alive(below)
    await engine.runtime.signal(state.key, signal.SIGKILL)
    assert (await engine.end(state.key)).exit_code == 137
    await until(lambda: not alive(below))


async def test_a_signal_reaches_the_whole_group(engine: Engine) -> None:
    child = 'trap "echo child; exit" TERM; echo up; while :; do sleep 0.02; done'
    state = await engine.start("sh", "-c", f"trap 'echo parent' TERM; sh -c '{child}'; wait")
    await until(lambda: "up" in engine.log(state.key))
    await engine.runtime.signal(state.key, signal.SIGTERM)
    await engine.end(state.key)
    assert set(engine.log(state.key).split()) >= {"up", "parent", "child"}


async def test_signals_to_the_ended_and_unknown_do_nothing(engine: Engine) -> None:
    ended = await engine.run("true")
    await engine.runtime.signal(ended.key, signal.SIGTERM)
    await engine.runtime.signal(ended.key._replace(attempt=9), signal.SIGKILL)


async def test_many_at_once_each_end_with_their_own_code(engine: Engine) -> None:
    states = await asyncio.gather(*(engine.start("sh", "-c", f"exit {n}") for n in range(40)))
    assert [(await engine.end(state.key)).exit_code for state in states] == list(range(40))
