"""A keeper leaves alone what another directory's keeper started, and ends with an owner that needs it to."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from longshore.node.keeper import procfs
from longshore.node.runtimes.process import ProcessRuntime
from support.keeper_engine import Engine, until

pytestmark = pytest.mark.anyio


def runs(pid: int) -> bool:
    return bool(procfs.start_ticks(pid))


async def test_a_copy_of_a_directory_adopts_nothing_and_kills_nothing(
    engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    orphan = tmp_path / "orphan"
    script = f"setsid sh -c 'echo $$ > {orphan}; exec sleep 100' & exec sleep 100"
    state = await engine.start("sh", "-c", script)
    await until(lambda: orphan.exists() and orphan.read_text())
    shutil.copytree(
        engine.directory / "keeper",
        tmp_path / "copy" / "keeper",
        ignore=lambda _, names: [name for name in names if name == "socket"],
    )
    copy = Engine(tmp_path / "copy")
    await copy.open()
    try:
        (known,) = copy.remembered
        assert (known.key, known.phase) == (state.key, "lost")
        assert "copy" in known.message
        assert "is a copy" in caplog.text
    finally:
        await copy.runtime.close(kill=True)
    assert runs(state.pid)
    assert runs(int(orphan.read_text()))
    os.kill(int(orphan.read_text()), signal.SIGKILL)


async def test_a_moved_directory_finds_its_processes(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    await engine.open()
    state = await engine.start("sleep", "100")
    await engine.runtime.close(kill=False)
    os.kill(engine.keeper, signal.SIGKILL)
    (engine.directory / "keeper").rename(tmp_path / "moved")
    moved = ProcessRuntime(tmp_path / "moved")
    try:
        (known,) = await moved.open(lambda state: None)
        assert (known.phase, known.pid) == ("running", state.pid)
    finally:
        await moved.close(kill=True)
    assert not runs(state.pid)


async def test_a_keeper_with_an_owner_ends_everything_when_the_owner_is_gone(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    engine.runtime = ProcessRuntime(tmp_path / "keeper", owned=True)
    await engine.open()
    state, keeper = await engine.start("sleep", "100"), engine.keeper
    await engine.runtime.close(kill=False)  # hangs up, as the end of the process would
    await until(lambda: not runs(state.pid))
    await until(lambda: not runs(keeper))


async def test_a_keeper_without_an_owner_goes_on(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    await engine.open()
    state, keeper = await engine.start("sleep", "100"), engine.keeper
    await engine.runtime.close(kill=False)
    again = Engine(engine.directory)
    await again.open()
    try:
        assert again.keeper == keeper
        assert runs(state.pid)
    finally:
        await again.runtime.close(kill=True)
