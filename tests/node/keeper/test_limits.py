"""Memory limits by sampling, and what the keeper writes to cgroups where there are some."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from longshore.node.keeper.container_records import ContainerRecord
from longshore.node.keeper.walls import cgroups
from longshore.node.runtime import Limits
from support.keeper_engine import Engine

_GROW = "x = bytearray({} << 20); import time; time.sleep({})"


@pytest.mark.anyio
async def test_a_container_above_its_memory_limit_is_oom_killed(engine: Engine) -> None:
    ended = await engine.run(sys.executable, "-c", _GROW.format(120, 30), limits=Limits(memory=64 << 20))
    assert (ended.exit_code, ended.signal, ended.reason) == (137, 9, "OOMKilled")


@pytest.mark.anyio
async def test_the_end_for_memory_tells_use_and_limit(engine: Engine) -> None:
    ended = await engine.run(sys.executable, "-c", _GROW.format(120, 30), limits=Limits(memory=64 << 20))
    told = re.fullmatch(r"used (\d+)Mi of memory, the limit is 64Mi", ended.message)
    assert told is not None, ended.message
    assert int(told[1]) >= 64


@pytest.mark.anyio
async def test_its_children_count_too(engine: Engine) -> None:
    grow = f"{sys.executable} -c '{_GROW.format(40, 30)}'"
    ended = await engine.run("sh", "-c", f"{grow} & {grow} & wait", limits=Limits(memory=64 << 20))
    assert (ended.exit_code, ended.reason) == (137, "OOMKilled")


@pytest.mark.anyio
async def test_one_below_its_limit_is_left_alone(engine: Engine) -> None:
    ended = await engine.run(sys.executable, "-c", _GROW.format(30, 0.4), limits=Limits(memory=200 << 20))
    assert (ended.exit_code, ended.reason) == (0, "Completed")


@pytest.mark.anyio
async def test_pages_shared_after_a_fork_count_once(engine: Engine) -> None:
    children = "[os.fork() or (time.sleep(0.5), os._exit(0)) for _ in range(4)]"
    fork = f"import os, time; x = bytearray(60 << 20); {children}; time.sleep(0.4)"
    ended = await engine.run(sys.executable, "-c", fork, limits=Limits(memory=130 << 20))
    assert ended.reason == "Completed"


def test_a_cgroup_gets_the_limits_as_kubelets_write_them(tmp_path: Path) -> None:
    entry = _entry(memory=64 << 20, cpu=500, cpu_request=250)
    group = tmp_path / "u_c_0"
    group.mkdir()
    for name in (
        "memory.max",
        "memory.swap.max",
        "memory.oom.group",
        "cpu.max",
        "cpu.weight",
        "cgroup.procs",
    ):
        (group / name).touch()
    processes = cgroups.Cgroups(str(tmp_path)).prepare(entry)
    os.write(processes, b"0")
    os.close(processes)
    read = {path.name: path.read_text() for path in group.iterdir()}
    assert read == {
        "memory.max": "67108864",
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cpu.max": "50000 100000",
        "cpu.weight": "10",
        "cgroup.procs": "0",
    }


def test_a_cgroup_tells_of_kills_for_memory_and_of_usage(tmp_path: Path) -> None:
    limiter = cgroups.Cgroups(str(tmp_path))
    entry = _entry(memory=1, cpu=None, cpu_request=None)
    entry.cgroup = str(tmp_path)
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 400\n")
    (tmp_path / "memory.peak").write_text("900\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 2500000\n")
    assert limiter.usage(entry, None) == (2.5, 600)  # type: ignore[arg-type]
    assert limiter.ended(entry)
    assert entry.oom == 900


def test_without_limits_no_cgroup_is_made(tmp_path: Path) -> None:
    assert cgroups.Cgroups(str(tmp_path)).prepare(_entry(memory=None, cpu=None, cpu_request=None)) == -1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("millis", "weight"), [(1, 1), (100, 4), (1000, 39), (256000, 10000)])
def test_a_request_weighs_as_upstream(millis: int, weight: int) -> None:
    assert cgroups.weight(millis) == weight


def _entry(**limits: int | None) -> ContainerRecord:
    entry = ContainerRecord("u/c/0", "", 0.0, limits["memory"] or 0, "")
    entry.spec = limits  # type: ignore[assignment]
    return entry
