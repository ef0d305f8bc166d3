"""`longshore up` in a terminal: starts, prints one ready line, and stops at a signal."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import logging
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from longshore import __version__
from longshore.up import logs, spare_memory, startup
from longshore.up.options import Options

if TYPE_CHECKING:
    from longshore.up.running import Longshore

Result = TypeVar("Result")
_FULL_DISK = (
    "the disk with the data directory is full: objects can be read, changed and deleted, new ones are "
    "refused until there is room; delete finished Jobs and pods with their logs, or free space"
)


def run(options: Options) -> None:
    """Runs a longshore until a signal stops it. A second signal does not wait for open requests."""
    logs.configure(options.logging)
    spare_memory.keep_together()
    with startup.quick_imports():
        from longshore.up import running  # noqa: F401 - used below; here it is imported quickly
    run_to_end(_until_stopped(options))


def ready_line(longshore: Longshore) -> str:
    """The line that says how to use this longshore."""
    config = shlex.quote(str(longshore.kubeconfig))
    return f"longshore {__version__} is ready at {longshore.server}; use it with: export KUBECONFIG={config}"


async def _until_stopped(options: Options) -> None:
    from longshore.up import listening
    from longshore.up.running import running

    stop, manager = asyncio.Event(), ServiceManager.of_environment()
    async with running(options, listening.of_environment()) as longshore:
        on_signal(stop.set)
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

    if not longshore.node_name:
        return ""
    try:
        node = await longshore.client.get(kinds.NODES, longshore.node_name)
    except StatusError:
        return ""
    words = shortcomings.words(node)
    return f"this machine: {words} (more: longshore doctor)" if words else ""


def _open_words(longshore: Longshore) -> str:
    first = longshore.elsewhere[0]
    return (
        f"warning: other machines reach this longshore at {', '.join(longshore.elsewhere)}. "
        f"Anyone with the token in {longshore.kubeconfig} can start processes here as {_user()}. "
        f"A kubeconfig for another machine: longshore kubeconfig print --server {first}"
    )


def _user() -> str:
    """The name of the user; the number of a user without a name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user id {os.geteuid()}"


def _say(text: str) -> None:
    """Prints to standard error, and ignores a full disk behind it."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def run_to_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine in an event loop of its own, and returns its result."""
    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(work)


def event_loop() -> asyncio.AbstractEventLoop:
    """An event loop of uvloop if that is installed, else asyncio's."""
    try:
        import uvloop
    except ImportError:  # not made for this system
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


# Reports the state of a longshore to a service manager, by systemd's notification protocol.
#
# A datagram to the socket that `NOTIFY_SOCKET` names: `READY=1` when requests are answered, `STOPPING=1` when
# it begins to stop, and `STATUS=` with a line for `systemctl status`. Other service managers understand it,
# too. Without the variable nothing is sent. The variable is taken out of the environment: pods must not speak
# for longshore.

VARIABLE: Final = "NOTIFY_SOCKET"

log = logging.getLogger(__name__)


class ServiceManager:
    """The service manager that started this process, if one did."""

    def __init__(self, address: str = "") -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address

    @classmethod
    def of_environment(cls) -> ServiceManager:
        return cls(os.environ.pop(VARIABLE, ""))

    def ready(self, status: str) -> None:
        self._tell(f"READY=1\nSTATUS={status}\nMAINPID={os.getpid()}")

    def stopping(self) -> None:
        self._tell("STOPPING=1\nSTATUS=stopping")

    def _tell(self, lines: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
                to.sendto(lines.encode(), self._address)
        except OSError as err:
            log.warning("could not notify the service manager at %s: %s", self._address, err)


_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that stop longshore: Ctrl-C, SIGTERM, and SIGHUP when its terminal goes away."""


def on_signal(asked: Callable[[], object]) -> None:
    """Calls `asked` at the first of these signals. A second signal ends the process at once.

    SIGINT and SIGHUP stay ignored if they were when the process started: `nohup` relies on that, and Ctrl-C
    at a script must not stop what the script started with `&`. SIGTERM always stops."""
    loop = asyncio.get_running_loop()
    numbers = [n for n in _STOP_SIGNALS if n == signal.SIGTERM or signal.getsignal(n) != signal.SIG_IGN]

    def once() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)
        asked()

    for number in numbers:
        loop.add_signal_handler(number, once)
