"""Installs longshore as a service that systemd starts with the machine, or with your session (--user).

The unit tells systemd when longshore is ready, is started again when it fails, and gets cgroups of its own,
so that the limits of pods are real. Pods keep running while the service is restarted, and a socket unit keeps
the port open, so that clients wait meanwhile. Words after -- are arguments of longshore up.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags, parsers
from longshore.cli.main import Failure

if TYPE_CHECKING:
    from longshore.up.systemd_unit import SocketUnit, Unit

TAKES_A_COMMAND = True


def add_arguments(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, help in (
        ("install", "write the units, and start the service now and with the machine"),
        ("status", "show whether the service is installed, and runs"),
        ("remove", "stop the service and remove the units; data stays"),
    ):
        verb = verbs.add_parser(name, help=help, description=help, allow_abbrev=False)
        flags.switch(verb, "--user", help="a service of your own user instead of the machine's")
        if name == "install":
            flags.switch(verb, "--start", default=True, help="start it (default); --no-start only writes it")


def run(arguments: Namespace) -> int:
    return {"install": _install, "status": _status, "remove": _remove}[arguments.verb](arguments)


def _install(arguments: Namespace) -> int:
    from longshore.up import systemd_unit

    sockets = _sockets(arguments)
    words = (*_program(), "up", *arguments.after_dashes)
    directory = str(Path.cwd()) if arguments.after_dashes else ""
    unit = systemd_unit.Unit(arguments.user, words, sockets is not None, directory)
    units: list[SocketUnit | Unit] = [unit] if sockets is None else [sockets, unit]
    differ = any(each.file.exists() and each.file.read_text() != each.text() for each in units)
    if arguments.start:  # a systemd that does not answer is found out before anything is written
        _systemctl(arguments.user, "show", "--property=Version")
    for each in units:
        try:
            each.file.parent.mkdir(parents=True, exist_ok=True)
            each.file.write_text(each.text())
        except PermissionError:
            raise Failure(f"{each.file} is for root to write; run this with sudo, or pass --user") from None
        print(f"wrote {each.file}")
    if sockets is None:
        _remove_unit(arguments.user, systemd_unit.SOCKET_NAME)  # of an earlier installation
    if not arguments.start:
        return 0
    names = [each.file.name for each in units]
    _systemctl(arguments.user, "daemon-reload")
    if differ:  # a unit that runs would keep its old settings and socket
        _systemctl(arguments.user, "stop", *names)
    _systemctl(arguments.user, "enable", "--now", *names)
    print(f"{systemd_unit.NAME} runs, and starts with {'your session' if arguments.user else 'the machine'}")
    if arguments.user:
        print("to start it with the machine: loginctl enable-linger")
    return 0


def _status(arguments: Namespace) -> int:
    import subprocess

    from longshore.up import systemd_unit

    file = systemd_unit.file(arguments.user)
    if not file.exists():
        print(f"not installed: there is no {file}; install it with: {_again('install', arguments.user)}")
        return 1
    words = [_found_systemctl(), *_scope(arguments.user), "--no-pager", "status", systemd_unit.NAME]
    return subprocess.run(words, check=False).returncode


def _remove(arguments: Namespace) -> int:
    from longshore.up import systemd_unit

    if not systemd_unit.file(arguments.user).exists():
        print(f"not installed: there is no {systemd_unit.file(arguments.user)}")
        return 0
    # The socket first: it would start the service again for the next client.
    for name in (systemd_unit.SOCKET_NAME, systemd_unit.NAME):
        _remove_unit(arguments.user, name)
    if _runs():
        _systemctl(arguments.user, "daemon-reload")
    print("the data directory is as it was")
    return 0


def _remove_unit(user: bool, name: str) -> None:
    """Stops a unit and removes its file, if there is one."""
    from longshore.up import systemd_unit

    file = systemd_unit.file(user, name)
    if not file.exists():
        return
    if _runs():
        _systemctl(user, "disable", "--now", name)
    try:
        file.unlink()
    except PermissionError:
        raise Failure(f"{file} is for root to remove; run this with sudo") from None
    print(f"removed {file}")


def _sockets(arguments: Namespace) -> SocketUnit | None:
    """The sockets that the arguments of `up` ask for; None if the port is any free one. Bad arguments are
    refused here, and not in the service's journal."""
    from longshore.up import listening, systemd_unit

    wanted = parsers.parser("up").parse_args(arguments.after_dashes)
    if wanted.port == 0:
        return None
    addresses = listening.addresses(wanted.listen)
    return systemd_unit.SocketUnit(user=arguments.user, addresses=addresses, port=wanted.port)


def _program() -> tuple[str, ...]:
    """The absolute path of this longshore: a service does not have your PATH."""
    named = os.path.abspath(sys.argv[0])
    if os.path.basename(named) == "longshore" and os.access(named, os.X_OK):
        return (named,)
    return (sys.executable, "-m", "longshore")


def _runs() -> bool:
    """Whether systemd manages this machine."""
    return Path("/run/systemd/system").is_dir()


def _systemctl(user: bool, *words: str) -> None:
    import subprocess

    done = subprocess.run(
        [_found_systemctl(), *_scope(user), *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise Failure(f"systemctl {' '.join((*_scope(user), *words))} failed: {said}")


def _found_systemctl() -> str:
    import shutil

    found = shutil.which("systemctl")
    if found is None or not _runs():
        raise Failure(
            "systemd does not run this machine; the handbook's page Operate it shows other ways to start "
            "longshore with the machine (--no-start writes the unit all the same)"
        )
    return found


def _scope(user: bool) -> tuple[str, ...]:
    return ("--user",) if user else ()


def _again(verb: str, user: bool) -> str:
    return f"longshore service {verb}{' --user' if user else ''}"
