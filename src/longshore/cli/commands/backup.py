"""Writes a backup of the data directory to a file: all objects, the history, and the secrets.

It works while longshore runs, holds up no request, and is the state of one moment. The backup is read to its
end before the command succeeds. It holds credentials: treat it like an SSH key. Logs and the processes of
running pods are not in it. longshore restore puts it back, also into a newer version.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from longshore.api.time import rfc3339
from longshore.cli.arguments import flags
from longshore.cli.main import Failure
from longshore.cli.printing import columns
from longshore.cli.server import data_dir

_MAX_TRIES: Final = 10
_PAUSE_SECONDS: Final = 1.0
"""Seconds between two tries; a longshore that restarts is back within a few of these."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to write, such as longshore.tar.gz")
    data_dir.add_arguments(parser)
    flags.switch(parser, "--volumes", help="include the files of persistent volumes, as they are now")


def run(arguments: Namespace) -> int:
    from longshore.cli.server import refusals
    from longshore.store import StoreError
    from longshore.up import backups, secrets

    directory, out = data_dir.directory(arguments), arguments.file.expanduser().absolute()
    if out.exists():
        raise Failure(f"{out} exists; choose another name, or remove it first")
    if not (directory / backups.JOURNAL).exists():
        raise Failure(f"there is no journal in {directory}; choose another one with --data-dir")
    name = f"backup-{os.getpid()}"
    try:
        with refusals.as_failure(), ExitStack() as stack:
            copy = _copied(directory, name, stack)
            secrets.note_backup(directory, out)
            made = backups.pack(directory, copy, out, volumes=arguments.volumes)
    except StoreError as err:
        raise Failure(str(err)) from None
    print(
        f"{out}: {made.objects} objects at revision {made.revision}, {columns.size(out.stat().st_size)}, "
        f"checked; made {rfc3339.from_seconds(made.made)}"
    )
    return 0


def _copied(directory: Path, name: str, stack: ExitStack) -> Path:
    """A copy of the journal, which is removed with `stack`. Tries again while a longshore starts or stops
    there, or while another backup runs."""
    from longshore.client.errors import Unreachable
    from longshore.store.errors import DataDirBusy
    from longshore.up import snapshots

    for left in reversed(range(_MAX_TRIES)):
        copy = directory
        try:
            copy = _copy(directory, name)
            return stack.enter_context(snapshots.held(copy))
        except FileNotFoundError:
            if not left:
                text = f"the longshore on {directory} says it made {copy}, which is not there"
                raise Failure(text) from None
        except (DataDirBusy, Unreachable):
            if not left:
                raise
        time.sleep(_PAUSE_SECONDS)
    raise AssertionError("the last try returns or raises")


def _copy(directory: Path, name: str) -> Path:
    """A new copy of the journal, made by the longshore that runs, or here if none does."""
    from longshore.cli.server.requests import Server
    from longshore.client.config.connection import from_kubeconfig
    from longshore.store import journal_copy
    from longshore.up import snapshots

    if data_dir.holder(directory) is None:
        room = directory / snapshots.DIRECTORY
        room.mkdir(mode=0o700, exist_ok=True)
        copy = room / f"{name}.db"
        journal_copy.copy_idle(directory, copy)
        return copy
    with closing(Server(from_kubeconfig(directory / "kubeconfig"))) as server:
        return Path(server.json("GET", snapshots.path(name))["file"])
