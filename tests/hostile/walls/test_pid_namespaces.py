"""PID namespaces: used again when they are clean, and empty when their container has ended."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from longshore.node.runtime import Mount
from support.keeper_engine import WALLS, Engine, kill, until, walled
from support.places import PODS_PYTHON

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return ("asyncio", {"use_uvloop": True})


@pytest.fixture
async def engine(tmp_path: Path, anyio_backend: object) -> AsyncIterator[Engine]:
    async with walled(tmp_path) as one:
        yield one


def _runs(mark: str) -> list[str]:
    """The processes of this machine with a word in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in words.split(b"\0"):
            found.append(pid)
    return found


@pytest.mark.parametrize("level", ["process", "full"])
async def test_whoever_flees_from_a_container_ends_with_it_while_others_run(
    engine: Engine, level: str
) -> None:
    mark = f"4242.{os.getpid()}"
    other = await engine.start("sleep", "100", walls=WALLS[level])
    await engine.run("sh", "-c", f"env -i setsid sleep {mark} & sleep 0.1", walls=WALLS[level])
    await until(lambda: not _runs(mark))
    await engine.runtime.signal(other.key, 9)


@pytest.mark.parametrize("level", ["process", "full"])
async def test_whoever_flees_ends_with_its_container_under_the_next_keeper_too(
    engine: Engine, level: str
) -> None:
    mark = f"4244.{os.getpid()}"
    script = f"env -i setsid sleep {mark} & sleep 1000"
    state = await engine.start("sh", "-c", script, walls=WALLS[level])
    await until(lambda: _runs(mark))
    old = engine.keeper
    kill(old)
    await until(lambda: engine.keeper != old)
    await engine.runtime.signal(state.key, 9)
    await until(lambda: not _runs(mark))


@pytest.mark.parametrize("level", ["process", "full"])
async def test_pauses_in_which_nothing_runs_leave_the_next_one_alone(engine: Engine, level: str) -> None:
    for _ in range(3):
        mark = f"4243.{os.getpid()}"
        ended = await engine.run("sh", "-c", f"env -i setsid sleep {mark} & sleep 0.1", walls=WALLS[level])
        await until(lambda: not _runs(mark))  # noqa: B023 - waited for at once
        assert ended.exit_code == 0


@pytest.mark.parametrize("level", ["process", "full"])
async def test_nothing_of_one_container_is_found_by_the_next(engine: Engine, level: str) -> None:
    leave = "ipcmk -Q > /dev/null; touch /dev/shm/left; if [ $OWN_TMP ]; then touch /tmp/left; fi"
    own = (("OWN_TMP", "yes" if level == "full" else ""),)
    await engine.run("sh", "-c", leave, env=own, walls=WALLS[level])
    look = "ipcs -q | grep -c 0x; ls /dev/shm; if [ $OWN_TMP ]; then ls /tmp; fi"
    assert await engine.output("sh", "-c", look, env=own, walls=WALLS[level]) == "0\n"


_QUEUE = """
import ctypes, os
library = ctypes.CDLL("librt.so.1", use_errno=True)
if library.mq_open(b"/left", os.O_RDWR {more}, 0o600, None) < 0:
    print(os.strerror(ctypes.get_errno()))
"""


@pytest.mark.parametrize("kind", ["-Q", "-M 64", "-S 1"])
async def test_no_object_of_system_v_is_left_to_the_next(engine: Engine, kind: str) -> None:
    await engine.run("sh", "-c", f"ipcmk {kind}", walls=WALLS["full"])
    assert await engine.output("sh", "-c", "ipcs | grep -c 0x", walls=WALLS["full"]) == "0\n"


async def test_no_message_queue_of_posix_is_left_to_the_next(engine: Engine) -> None:
    make, look = _QUEUE.format(more="| os.O_CREAT"), _QUEUE.format(more="")
    assert await engine.output(PODS_PYTHON, "-c", make, walls=WALLS["full"]) == ""
    said = await engine.output(PODS_PYTHON, "-c", look, walls=WALLS["full"])
    assert said == "No such file or directory\n"


@pytest.mark.parametrize("level", ["process", "full"])
async def test_a_namespace_without_network_is_left_to_the_next_without_one(
    engine: Engine, level: str
) -> None:
    walls = WALLS[level]
    assert walls is not None
    alone = msgspec.structs.replace(walls, no_network=True)
    seen = [await engine.output("readlink", "/proc/self/ns/net", walls=alone) for _ in range(3)]
    assert f"{os.readlink('/proc/self/ns/net')}\n" not in seen


async def test_an_ipc_namespace_without_objects_is_used_again(engine: Engine) -> None:
    seen = {await engine.output("readlink", "/proc/self/ns/ipc", walls=WALLS["full"]) for _ in range(3)}
    assert len(seen) == 1


async def test_a_container_with_walls_of_processes_alone_has_a_new_ipc_namespace(engine: Engine) -> None:
    """It may set the limits of its namespace, which the next one must not have."""
    limit = "/proc/sys/kernel/msgmni"
    before = await engine.output("cat", limit, walls=WALLS["process"])
    await engine.run("sh", "-c", f"echo 7 > {limit}", walls=WALLS["process"])
    assert await engine.output("cat", limit, walls=WALLS["process"]) == before


CHANGES = {
    "a new file in /dev": "touch /dev/left",
    "a file in /dev in place of another": "rm /dev/stdin && touch /dev/left",
    "a closed multiplexer of terminals": "chmod 0 /dev/pts/ptmx",
    "a new file beside a mount point": "touch /not/there/left",
    "a directory renamed above a mount point": "mv /not/there /not/here",
    "a directory that others may not enter": "chmod 0 /not/there",
    "a new file in a directory of a directory": "mkdir /not/there/left && touch /not/there/left/file",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("level", ["process", "full"])
async def test_a_change_in_memory_is_not_found_by_the_next(
    engine: Engine, tmp_path: Path, level: str, change: str
) -> None:
    same = {
        "mounts": (Mount(str(tmp_path), "/not/there/volume"),),
        "termination_message": tmp_path / "message",
        "walls": WALLS[level],
    }
    look = "ls -l /dev /dev/pts /not /not/* | grep -v ^total | awk '{print $1, $NF}'"
    seen = await engine.output("sh", "-c", look, **same)
    assert (await engine.run("sh", "-c", change, **same)).exit_code == 0
    assert await engine.output("sh", "-c", look, **same) == seen


@pytest.mark.parametrize("level", ["process", "full"])
async def test_a_clean_pid_namespace_is_used_again(engine: Engine, tmp_path: Path, level: str) -> None:
    script = "echo > /dev/null; echo x > /dev/termination-log; readlink /proc/self/ns/pid"
    same = {"termination_message": tmp_path / "message", "walls": WALLS[level]}
    seen = {await engine.output("sh", "-c", script, **same) for _ in range(3)}
    assert len(seen) == 1


async def test_a_namespace_is_used_again_after_one_that_cleaned_up_its_tmp(engine: Engine) -> None:
    script = "touch /tmp/made; ls /tmp; rm /tmp/made; readlink /proc/self/ns/pid"
    seen = {await engine.output("sh", "-c", script, walls=WALLS["full"]) for _ in range(3)}
    assert len(seen) == 1
    await engine.run("touch", "/tmp/made", walls=WALLS["full"])
    assert await engine.output("ls", "/tmp", walls=WALLS["full"]) == ""
