"""`longshore up` in a terminal: starts, prints one ready line, and stops at a signal."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import shlex
import sys
from typing import TYPE_CHECKING

from longshore import __version__
from longshore.up import logs, spare_memory, startup, stop_signals
from longshore.up.options import Options
from longshore.up.service_manager import ServiceManager

if TYPE_CHECKING:
    from longshore.up.running import Longshore

_FULL_DISK = (
    "the disk with the data directory is full: objects can be read, changed and deleted, new ones are "
    "refused until there is room; delete finished Jobs and pods with their logs, or free space"
)


def run(options: Options) -> None:
    """Runs a longshore until it is told to stop. A second signal does not wait for open requests."""
    logs.configure(options.logging)
    spare_memory.keep_together()
    with startup.quick_imports():
        from longshore.up import running  # noqa: F401 - used below; here it is imported quickly
    with asyncio.Runner(loop_factory=event_loop) as runner:
        runner.run(_until_stopped(options))


def ready_line(longshore: Longshore) -> str:
    """The one line that tells how to go on."""
    config = shlex.quote(str(longshore.kubeconfig))
    return f"longshore {__version__} is ready at {longshore.server}; use it with: export KUBECONFIG={config}"


async def _until_stopped(options: Options) -> None:
    from longshore.up import passed_sockets
    from longshore.up.running import running

    stop, manager = asyncio.Event(), ServiceManager.of_environment()
    async with running(options, passed_sockets.of_environment()) as longshore:
        stop_signals.on_signal(stop.set)
        print(ready_line(longshore), flush=True)
        manager.ready(f"serves {longshore.server}")
        if lacking := await _lacking(longshore):
            _say(lacking)
        if longshore.elsewhere:
            _say(_open_words(longshore))
        if longshore.api.store.is_short:
            _say(_FULL_DISK)
        await stop.wait()
        manager.stopping()
        _say("longshore is stopping")


async def _lacking(longshore: Longshore) -> str:
    """The shortcomings of this machine in a line; empty if it runs no pods or lacks nothing."""
    from longshore.api.errors import StatusError
    from longshore.api.facts import kinds
    from longshore.node import shortcomings
    from longshore.up import machine

    try:
        node = await longshore.client.get(kinds.NODES, machine.name())
    except StatusError:
        return ""
    words = shortcomings.words(node)
    return f"this machine: {words} (more: longshore doctor)" if words else ""


def _open_words(longshore: Longshore) -> str:
    first = longshore.elsewhere[0]
    return (
        f"warning: other machines reach this longshore at {', '.join(longshore.elsewhere)}. "
        f"Whoever has the token in {longshore.kubeconfig} can start processes here as {_user()}. "
        f"A kubeconfig for another machine: longshore kubeconfig print --server {first}"
    )


def _user() -> str:
    """The name of the user, or the number of one that the machine has no name for, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user id {os.geteuid()}"


def _say(text: str) -> None:
    """To the terminal, or to a file that may be on a full disk."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def event_loop() -> asyncio.AbstractEventLoop:
    """uvloop where there is one."""
    try:
        import uvloop
    except ImportError:  # not made for this system
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
