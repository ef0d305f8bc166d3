"""Puts a backup of longshore backup into the data directory, after checking all of it.

No longshore may run there; --down stops the one that does, and its pods, if they keep running, are found
again only as far as the backup knows them. What was there is kept in the directory replaced-TIME beside it.
A backup of an older version is upgraded by the next start; one of a newer version is refused.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from longshore.api.time import rfc3339
from longshore.cli.arguments import flags
from longshore.cli.commands import down
from longshore.cli.main import Failure
from longshore.cli.server import data_dir

if TYPE_CHECKING:
    from longshore.up import backups


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that longshore backup wrote")
    data_dir.add_arguments(parser)
    flags.switch(parser, "--check", help="check the backup, and change nothing")
    flags.switch(parser, "--down", help="stop the longshore that runs on the data directory first")


def run(arguments: Namespace) -> int:
    from longshore.store import StoreError
    from longshore.up import backups
    from longshore.up.files import UnfitDirectory

    directory, backup = data_dir.directory(arguments), arguments.file.expanduser().absolute()
    if not backup.is_file():
        raise Failure(f"there is no file {backup}")
    try:
        if arguments.check:
            print(_described(backup, _checked(backup)))
            return 0
        if pid := data_dir.holder(directory):
            if not arguments.down:
                raise Failure(
                    f"longshore runs on {directory} as process {pid}; stop it with: longshore down, "
                    "or pass --down"
                )
            _checked(backup)  # before anything is stopped
            arguments.timeout = down.TIMEOUT_SECONDS
            down.run(arguments)
        made, kept = backups.restore(backup, directory)
    except (StoreError, UnfitDirectory, backups.BadBackup) as err:
        raise Failure(str(err)) from None
    print(_described(backup, made))
    print(_found(directory, made))
    if kept is not None:
        print(f"what was there is in {kept}; remove it when you are content")
    print(f"restored into {directory}; start it with: longshore up")
    return 0


def _found(directory: Path, made: backups.Manifest) -> str:
    """One line with the nodes in the backup, and what becomes of their pods."""
    from longshore.up import machine
    from longshore.up.backups import JOURNAL
    from longshore.up.node_name import pods_by_node

    left = pods_by_node(directory / JOURNAL)
    name = made.node or machine.name()
    if made.node:
        words = f"its node is {made.node}, and keeps this name here"
    elif left:
        words = f"its nodes are {', '.join(sorted(left))}; the next start takes over the one that was its own"
    else:
        return "no node is in it"
    if count := left.get(name, 0):
        words += f"; {count} of its pods had not ended: what does not run on this machine is reported as lost"
    if others := sorted(left.keys() - {name}) if made.node else []:
        words += f"; nodes of other machines: {', '.join(others)}, until they are silent for 50 s"
    return words


def _checked(backup: Path) -> backups.Manifest:
    import tempfile

    from longshore.up import backups

    with tempfile.TemporaryDirectory() as room, backups.unpacked(backup, Path(room)) as (made, _):
        return made


def _described(backup: Path, made: backups.Manifest) -> str:
    return (
        f"{backup}: {made.objects} objects at revision {made.revision}, whole; "
        f"longshore {made.longshore} made it {rfc3339.from_seconds(made.made)}"
    )
