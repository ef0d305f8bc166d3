"""Pods of several containers behind walls: what they share stays as long as the pod, whoever ends first."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longshore.node.keeper import procfs
from longshore.node.keeper.walls import fork_server
from longshore.node.runtime import CannotStart, ContainerState, Key
from support.keeper_engine import WALLS, Engine, kill, until, walled

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("level", ["process", "full"])]
_numbers = itertools.count()


@pytest.fixture
async def engine(tmp_path: Path, anyio_backend: object) -> AsyncIterator[Engine]:
    async with walled(tmp_path) as one:
        yield one


class Pod:
    """A pod whose containers know of each other."""

    def __init__(self, engine: Engine, level: str, **walls: Any) -> None:
        self._engine = engine
        self._uid = f"{engine.directory.name}-{next(_numbers)}"
        one = WALLS[level]
        assert one is not None
        self._walls = msgspec.structs.replace(one, siblings=True, **walls)

    def key(self, name: str, attempt: int = 0) -> Key:
        return Key(self._uid, name, attempt)

    async def start(self, name: str, *command: str, attempt: int = 0) -> ContainerState:
        key = self.key(name, attempt)
        log = self._engine.directory / "logs" / f"{self._uid}-{name}.log"
        return await self._engine.start(*command, key=key, walls=self._walls, log=log)

    async def run(self, name: str, *command: str) -> str:
        """What it wrote, when it has ended well."""
        state = await self._engine.end((await self.start(name, *command)).key)
        assert state.exit_code == 0
        path = self._engine.directory / "logs" / f"{self._uid}-{name}.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return "\n".join(line.split(" ", 3)[3] for line in lines)


def _pauses(keeper: int) -> list[int]:
    """The processes that hold namespaces of pods for a keeper."""
    return [pid for pid in procfs.children(keeper) or () if procfs.name(pid) == fork_server.PAUSE_NAME]


@pytest.mark.parametrize("walls", [{}, {"share_pid": True}, {"no_network": True}], ids=str)
async def test_containers_that_end_at_once_all_run(
    engine: Engine, level: str, walls: dict[str, bool]
) -> None:
    pods = [Pod(engine, level, **walls) for _ in range(20)]
    names = ("one", "two", "three")
    await asyncio.gather(*(pod.start(name, "true") for pod in pods for name in names))
    ends = [await engine.end(pod.key(name)) for pod in pods for name in names]
    assert [end.exit_code for end in ends] == [0] * len(ends)


async def test_shared_memory_and_queues_outlive_the_container_that_made_them(
    engine: Engine, level: str
) -> None:
    pod, other = Pod(engine, level), Pod(engine, level)
    await pod.run("one", "sh", "-c", "ipcmk -Q > /dev/null; echo left > /dev/shm/file")
    look = ("sh", "-c", "cat /dev/shm/file; ipcs -q | grep -c 0x")
    assert await pod.run("two", *look) == "left\n1"
    assert await other.run("one", "sh", "-c", "ls /dev/shm; ipcs -q | grep -c 0x || true") == "0"


async def test_a_pod_without_a_network_keeps_the_one_it_has(engine: Engine, level: str) -> None:
    pod = Pod(engine, level, no_network=True)
    tell = ("readlink", "/proc/self/ns/net")
    seen = {await pod.run(name, *tell) for name in ("one", "two")}
    assert len(seen) == 1
    assert seen != {os.readlink("/proc/self/ns/net")}


async def test_containers_that_share_processes_see_a_neighbour_and_not_one_that_fled_from_the_dead(
    engine: Engine, level: str
) -> None:
    pod = Pod(engine, level, share_pid=True)
    await pod.run("fleeing", "sh", "-c", "env -i setsid sleep 4248 & sleep 0.1")
    await pod.start("one", "sleep", "4249")
    seen = await pod.run("two", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "sleep 4249" in seen
    assert "4248" not in seen


async def test_the_holder_goes_when_the_engine_forgets_the_last_container(engine: Engine, level: str) -> None:
    pod = Pod(engine, level)
    await pod.run("one", "true")
    await pod.run("two", "true")
    (pause,) = _pauses(engine.keeper)
    await engine.runtime.remove([pod.key("one")])
    assert _pauses(engine.keeper) == [pause]
    await engine.runtime.remove([pod.key("two")])
    await until(lambda: not _pauses(engine.keeper))


async def test_a_pod_of_one_container_has_no_holder(engine: Engine, level: str) -> None:
    await engine.start("sleep", "1000", walls=WALLS[level])
    assert _pauses(engine.keeper) == []


async def test_a_container_that_could_not_start_leaves_no_holder(engine: Engine, level: str) -> None:
    with pytest.raises(Exception, match="not/there"):
        await Pod(engine, level).start("one", "/not/there")
    await until(lambda: not _pauses(engine.keeper))


@pytest.mark.skipif(os.geteuid() != 0, reason="without root a keeper cannot enter what another one made")
@pytest.mark.parametrize("walls", [{}, {"share_pid": True}, {"no_network": True}], ids=str)
async def test_the_next_keeper_starts_the_next_container_where_the_last_one_was(
    engine: Engine, level: str, walls: dict[str, bool]
) -> None:
    pod = Pod(engine, level, **walls)
    await pod.run("one", "sh", "-c", "echo left > /dev/shm/file")
    for name in ("two", "three"):  # the next but one, too
        (pause,) = _pauses(engine.keeper) or _adopted(engine)
        old = engine.keeper
        kill(old)
        await until(lambda old=old: engine.keeper != old)  # type: ignore[misc]
        assert await pod.run(name, "cat", "/dev/shm/file") == "left"
    await engine.runtime.remove([pod.key(name) for name in ("one", "two", "three")])
    await until(lambda: not procfs.start_ticks(pause))


def _adopted(engine: Engine) -> list[int]:
    """The holder that an earlier keeper started, as the journal has it."""
    lines = (engine.directory / "keeper" / "journal").read_text().splitlines()
    return [int(line.split("\t")[2]) for line in lines if line.startswith("pod\t")]


@pytest.mark.skipif(os.geteuid() != 0, reason="without root a keeper cannot enter what another one made")
async def test_a_container_joins_a_neighbour_when_the_holder_and_its_keeper_are_gone(
    engine: Engine, level: str
) -> None:
    pod = Pod(engine, level)
    await pod.start("one", "sh", "-c", "echo left > /dev/shm/file; sleep 1000")
    old, (pause,) = engine.keeper, _pauses(engine.keeper)
    kill(pause)
    kill(old)
    await until(lambda: engine.keeper != old)
    look = "until cat /dev/shm/file 2> /dev/null; do sleep 0.01; done"
    assert await pod.run("two", "sh", "-c", look) == "left"


async def test_a_container_whose_target_has_just_ended_is_refused_in_words(
    engine: Engine, level: str
) -> None:
    state = await engine.start("sleep", "1000", walls=WALLS[level])
    os.kill(engine.keeper, signal.SIGSTOP)  # it hears of the end and of the request together
    try:
        kill(state.pid)
        await until(lambda: not procfs.start_ticks(state.pid))
        debugger = asyncio.create_task(engine.start("true", target=state.key, walls=WALLS[level]))
        await asyncio.sleep(0.01)
    finally:
        os.kill(engine.keeper, signal.SIGCONT)
    with pytest.raises(CannotStart, match="the container is not running"):
        await debugger
