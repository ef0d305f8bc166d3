"""Commands run in containers of podman, and joining their streams."""

from __future__ import annotations

import asyncio

import pytest

from longshore.node.runtime import Container, Session
from node.podman.conftest import Yard

pytestmark = pytest.mark.anyio


@pytest.fixture
async def sleeper(yard: Yard) -> Container:
    made = yard.container("sleep", "1000", env=(("PATH", "/bin"), ("MINE", "yes")))
    await yard.runtime.start(made)
    return made


async def collect(session: Session) -> dict[str, bytes]:
    out = {"stdout": b"", "stderr": b""}
    async for name, data in session.output():
        out[name] += data
    return out


async def until(session: Session, wanted: bytes) -> bytes:
    seen = b""
    async with asyncio.timeout(10):
        async for _, data in session.output():
            seen += data
            if wanted in seen:
                break
    return seen


async def test_exec_has_streams_environment_and_an_exit_code(yard: Yard, sleeper: Container) -> None:
    script = "cat; echo $MINE; echo err >&2; exit 9"
    session = await yard.runtime.exec(sleeper.key, ("sh", "-c", script), stdin=True, tty=False)
    await session.write(b"input\n")
    await session.close_input()
    assert await collect(session) == {"stdout": b"input\nyes\n", "stderr": b"err\n"}
    assert await session.wait() == 9
    await session.close()


async def test_exec_with_a_terminal(yard: Yard, sleeper: Container) -> None:
    session = await yard.runtime.exec(sleeper.key, ("sh",), stdin=True, tty=True)
    await session.resize(77, 22)
    await session.write(b"while ! stty size | grep '^22 77'; do sleep 0.1; done; echo ready $((1+1))\n")
    assert b"ready 2" in await until(session, b"ready 2")
    await session.write(b"exit 6\n")
    await collect(session)
    assert await session.wait() == 6
    await session.close()


async def test_a_command_whose_client_goes_is_killed(yard: Yard, sleeper: Container) -> None:
    script = "trap '' TERM HUP INT; echo on; sleep 500"
    session = await yard.runtime.exec(sleeper.key, ("sh", "-c", script), stdin=False, tty=False)
    await until(session, b"on")
    await session.close()
    shown = await yard.runtime.exec(
        sleeper.key, ("sh", "-c", "cat /proc/[0-9]*/cmdline"), stdin=False, tty=False
    )
    assert b"sleep\x00500" not in (await collect(shown))["stdout"]
    await shown.close()


async def test_attach_joins_the_container(yard: Yard) -> None:
    container = yard.container("sh", "-c", "read x; echo got $x; exit 5", stdin=True)
    await yard.runtime.start(container)
    session = await yard.runtime.attach(container.key)
    await asyncio.sleep(0.5)
    await session.write(b"hello\n")
    assert (await collect(session))["stdout"].rstrip() == b"got hello"  # podman adds a line end of its own
    assert await session.wait() == 5
    await session.close()
