"""`kubectl exec -it` from a real terminal: one output, its size follows, keys that mean signals."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import termios

import pytest

from apiserver.streams.conftest import Kubectl, Stage

pytestmark = pytest.mark.anyio


async def _until(descriptor: int, wanted: bytes) -> bytes:
    seen = b""
    os.set_blocking(descriptor, False)
    async with asyncio.timeout(10):
        while wanted not in seen:
            try:
                seen += os.read(descriptor, 4096)
            except BlockingIOError:
                await asyncio.sleep(0.01)
    return seen


@pytest.mark.parametrize("websockets", ["true", "false"])
async def test_a_terminal_is_passed_through(stage: Stage, kubectl: Kubectl, websockets: str) -> None:
    await stage.pod()
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    process = await asyncio.create_subprocess_exec(
        kubectl.program,
        "exec",
        "-it",
        "p",
        "--",
        "env",
        "PS1=> ",
        "sh",
        env={
            "HOME": str(kubectl.home),
            "KUBECONFIG": str(kubectl.kubeconfig),
            "PATH": os.environ["PATH"],
            "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": websockets,
        },
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    await _until(ours, b"> ")
    os.write(ours, b"test -t 0 && echo is a $((1+1)) terminal; stty size\n")
    seen = await _until(ours, b"33 101")
    assert b"is a 2 terminal" in seen
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
    os.write(ours, b"while [ \"$(stty size)\" != '20 60' ]; do :; done; echo now sm$((1+1))ller\n")
    await _until(ours, b"now sm2ller")
    os.write(ours, b"sleep 100 || echo interrupted $?\n")
    await asyncio.sleep(0.2)
    os.write(ours, b"\x03")
    os.write(ours, b"echo still $((40+2))\n")
    await _until(ours, b"still 42")
    os.write(ours, b"exit 7\n")
    assert await asyncio.wait_for(process.wait(), 5) == 7
    os.close(ours)
