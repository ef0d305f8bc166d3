"""Upgrades: the keeper of another version of longshore goes when it is idle; else its containers end first.

The earlier versions are those of the commits before each change of the protocol, taken from the history.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from longshore.node.keeper import frames
from longshore.node.runtime import CannotStart, Key
from support.keeper_engine import Engine, alive, kill, until
from support.places import ROOT

pytestmark = pytest.mark.anyio
_WORDS = tuple(f"src/longshore/node/keeper/{name}.py" for name in ("frames", "talking/frames", "wire"))
"""The file of the protocol's version, by all the names it had."""
_EARLIER = """
import asyncio, json, sys
from pathlib import Path
from longshore.node.runtime import Container, Key
from longshore.node.runtimes.process import ProcessRuntime

async def main(directory, commands):
    runtime = ProcessRuntime(directory / "keeper")
    await runtime.open(lambda state: None)
    pids = []
    for number, command in enumerate(commands):
        container = Container(
            Key(f"earlier-{number}", "main", 0), "default", "pod", "image", command=tuple(command),
            log=directory / "logs" / f"earlier-{number}.log",
        )
        pids.append((await runtime.start(container)).pid)
    keeper = runtime.keeper_pid
    await runtime.close(kill=False)
    print(json.dumps([keeper, *pids]))

asyncio.run(main(Path(sys.argv[1]), json.loads(sys.argv[2])))
"""


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout


@functools.cache
def _commits() -> list[str]:
    """The commits before each change of the protocol's version, the oldest first; none without a history."""
    try:
        if _git("rev-parse", "--is-shallow-repository").strip() == "true":
            return []
        changes = _git("log", "--reverse", "--format=%H", "-G^VERSION = ", "--", *_WORDS).split()
    except (OSError, subprocess.CalledProcessError):
        return []
    return [f"{change}^" for change in changes[1:]]


@pytest.fixture(params=range(max(1, len(_commits()))), ids=lambda number: f"v{number + 1}")
def earlier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of an earlier longshore."""
    if not _commits():
        pytest.skip("earlier versions are taken from the history, and this copy of the repository has none")
    directory = tmp_path_factory.mktemp("earlier")
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", _commits()[request.param], "src/longshore"],
        stdout=subprocess.PIPE,
        check=True,
    )
    subprocess.run(["tar", "-x", "-C", str(directory)], input=packed.stdout, check=True)
    return directory / "src"


class Before:
    """An earlier longshore that started containers and was stopped."""

    def __init__(self, source: Path, directory: Path, *commands: list[str]) -> None:
        done = subprocess.run(
            [sys.executable, "-c", _EARLIER, str(directory), json.dumps(commands)],
            env={**os.environ, "PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        self.keeper, *self.pids = json.loads(done.stdout)

    @staticmethod
    def key(number: int) -> Key:
        return Key(f"earlier-{number}", "main", 0)


@pytest.fixture
async def engine(tmp_path: Path, anyio_backend: object) -> AsyncIterator[Engine]:
    one = Engine(tmp_path)
    yield one
    await one.runtime.close(kill=False)
    _kill_keepers(tmp_path)  # also of a test that failed before it knew its keepers


def _kill_keepers(directory: Path) -> None:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if "longshore.node.keeper" in words and any(word.startswith(f"{directory}/") for word in words):
            os.kill(int(pid), signal.SIGTERM)


def _states(engine: Engine) -> dict[Key, tuple[str, int]]:
    return {state.key: (state.phase, state.exit_code) for state in engine.remembered}


async def test_an_idle_keeper_of_an_earlier_version_goes_and_its_records_stay(
    earlier: Path, engine: Engine
) -> None:
    before = Before(earlier, engine.directory, ["sh", "-c", "exit 3"])
    await until(lambda: not alive(before.pids[0]))
    await engine.open()
    assert _states(engine) == {before.key(0): ("exited", 3)}
    assert await engine.output("echo", "hi") == "hi\n"
    await until(lambda: not alive(before.keeper))
    assert sorted(path.name for path in engine.directory.glob("keeper*")) == ["keeper"]
    await engine.runtime.close(kill=True)


async def test_a_busy_keeper_of_an_earlier_version_ends_its_containers_while_new_ones_start(
    earlier: Path, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    gate = engine.directory / "gate"
    wait = f"until test -e {gate}; do sleep 0.05; done; echo done; exit 4"
    before = Before(earlier, engine.directory, ["sh", "-c", wait], ["sleep", "1000"], ["true"])
    await engine.open()
    said = [record.getMessage() for record in caplog.records]
    assert [words for words in said if f"(pid {before.keeper}) still runs 2 containers" in words]
    assert await engine.output("echo", "hi") == "hi\n"
    assert alive(before.keeper)

    session = await engine.runtime.exec(before.key(0), ("echo", "inside"), stdin=False, tty=False)
    assert [data async for _, data in session.output()] == [b"inside\n"]
    await session.close()
    assert set(await engine.runtime.usage([before.key(0), before.key(1)])) == {before.key(0), before.key(1)}
    with pytest.raises(CannotStart, match="an earlier longshore"):
        await engine.start("true", target=before.key(1))

    gate.touch()
    assert (await engine.end(before.key(0))).exit_code == 4
    assert engine.log(before.key(0)) == "done\n"
    await engine.runtime.signal(before.key(1), 15)
    assert (await engine.end(before.key(1))).signal == 15
    await engine.runtime.remove([before.key(number) for number in range(3)])
    await until(lambda: not alive(before.keeper))
    await until(lambda: [path.name for path in engine.directory.glob("keeper*")] == ["keeper-2"])
    assert await engine.output("echo", "still") == "still\n"
    await engine.runtime.close(kill=True)


async def test_the_next_longshore_finds_the_containers_of_both_keepers(earlier: Path, engine: Engine) -> None:
    before = Before(earlier, engine.directory, ["sleep", "1000"])
    await engine.open()
    new = await engine.start("sleep", "1000")
    await engine.runtime.close(kill=False)
    again = Engine(engine.directory)
    await again.open()
    assert _states(again) == {before.key(0): ("running", 0), new.key: ("running", 0)}
    await again.runtime.close(kill=True)
    await until(lambda: not alive(before.pids[0]) and not alive(new.pid))


async def test_killed_with_its_containers_running_an_earlier_keeper_leaves_them_to_a_new_one(
    earlier: Path, engine: Engine
) -> None:
    gate = engine.directory / "gate"
    before = Before(earlier, engine.directory, ["sh", "-c", f"until test -e {gate}; do sleep 0.05; done"])
    await engine.open()
    kill(before.keeper)
    await until(lambda: engine.runtime._keepers.of(str(before.key(0))).version == frames.VERSION)
    assert alive(before.pids[0])
    gate.touch()
    assert (await engine.end(before.key(0))).phase in ("exited", "lost")  # by the kernel's age
    await engine.runtime.close(kill=True)


def test_the_protocol_is_compared_with_every_version_there_was() -> None:
    if not _commits():
        pytest.skip("earlier versions are taken from the history, and this copy of the repository has none")
    versions: list[Any] = []
    for commit in _commits():
        for path in _WORDS:
            found = subprocess.run(
                ["git", "-C", str(ROOT), "show", f"{commit}:{path}"], capture_output=True, text=True
            )
            versions += [
                int(line[10:]) for line in found.stdout.splitlines() if line.startswith("VERSION = ")
            ]
    assert versions == list(range(1, frames.VERSION))
