"""runAsUser, runAsGroup and further groups."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from longshore.node.runtime import CannotStart
from support.keeper_engine import Engine
from support.other_users import python_of_everybody, python_path

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]


async def test_it_runs_as_the_user_and_groups_asked_for(engine: Engine) -> None:
    text = await engine.output(
        "sh", "-c", "id -u; id -g; id -G; echo $HOME", user=12345, group=23456, groups=(34567,)
    )
    assert text.split() == ["12345", "23456", "23456", "34567", "/"]


async def test_a_users_own_group_and_home_are_taken(engine: Engine) -> None:
    text = await engine.output("sh", "-c", "id -u; id -g; echo $USER", user=65534)
    assert text.split() == ["65534", "65534", "nobody"]


async def test_another_user_has_no_rights_of_root(engine: Engine) -> None:
    text = await engine.output("sh", "-c", "grep CapEff /proc/self/status; cat /etc/shadow", user=12345)
    assert "CapEff:\t0000000000000000" in text
    assert "Permission denied" in text


async def test_a_missing_command_is_refused_for_another_user_too(engine: Engine) -> None:
    with pytest.raises(CannotStart, match=r'exec: "nope": executable file not found in \$PATH'):
        await engine.start("nope", user=12345)


async def test_another_user_may_write_the_termination_message(engine: Engine, tmp_path: Path) -> None:
    message = tmp_path / "message"
    await engine.run("sh", "-c", "echo bye > /dev/termination-log", user=12345, termination_message=message)
    assert message.read_text() == "bye\n"


_AS_USER = """
import asyncio, os, sys, tempfile
from pathlib import Path
os.setgroups([]); os.setgid(12345); os.setuid(12345)
sys.path[:0] = {path!r}.split(':')
from support.keeper_engine import Engine
from longshore.node.runtime import CannotStart, Mount

async def main(directory):
    engine = Engine(directory)
    await engine.open()
    try:
        print(await engine.output("id", "-u", user=12345), end="")
        try:
            await engine.start("true", user=0)
        except CannotStart as refused:
            print(refused.reason, refused.message)
        volume = directory / "volume"
        volume.mkdir()
        (volume / "file").write_text("content\\n")
        message = directory / "message"
        try:
            print(await engine.output(
                "sh", "-c", "cat /no-such/file; echo bye > /dev/termination-log; : > /dev/null",
                mounts=(Mount(str(volume), "/no-such"),), termination_message=message), end="")
            print(message.read_text(), end="")
            for _ in range(2):  # it finds back from one name to take on the next
                print(await engine.output(
                    "sh", "-c", "hostname; cat /root/.ssh/file",
                    mounts=(Mount(str(volume), "/root/.ssh"),), hostname="pod-name"), end="")
        except CannotStart as refused:
            print(refused.reason)
    finally:
        await engine.runtime.close(kill=True)

with tempfile.TemporaryDirectory() as directory:
    asyncio.run(main(Path(directory)))
"""


async def test_without_root_it_mounts_in_a_user_namespace_or_says_why_not() -> None:
    python = python_of_everybody()
    script = _AS_USER.format(path=python_path())
    done = await asyncio.to_thread(
        subprocess.run, [python, "-c", script], capture_output=True, text=True, timeout=20
    )
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "12345",
        "CreateContainerConfigError runAsUser 0 needs root: longshore runs as 12345 and cannot change it",
    ], done.stderr
    mounted = ["content", "bye", *["pod-name", "content"] * 2]
    assert lines[2:] in (mounted, ["CreateContainerConfigError"]), done.stderr
