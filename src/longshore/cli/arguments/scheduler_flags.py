"""The flags of commands that schedule gangs: the actions of a cycle, or a file that says more."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longshore.scheduler.gang.conf.conf_file import ConfFile


def add(parser: ArgumentParser) -> None:
    one = parser.add_mutually_exclusive_group()
    one.add_argument(
        "--scheduler-actions",
        type=actions,
        metavar="LIST",
        help="actions of a gang scheduling cycle, in order: some of enqueue, allocate, backfill, "
        "preempt, reclaim (default: enqueue,allocate,backfill)",
    )
    one.add_argument(
        "--scheduler-conf",
        type=_file,
        metavar="FILE",
        help="Volcano's scheduler.conf: actions, tiers of plugins and their arguments; read again when it "
        "changes",
    )


def conf_of(arguments: Namespace) -> ConfFile | None:
    """The file that was named. A mistake in it ends the command."""
    if arguments.scheduler_conf is None:
        return None
    from longshore.cli.main import Failure
    from longshore.scheduler.gang.conf.conf_file import ConfFile
    from longshore.scheduler.gang.conf.scheduler_conf import BadConf

    try:
        return ConfFile(arguments.scheduler_conf)
    except BadConf as err:
        raise Failure(f"--scheduler-conf: {err}", 2) from None


def actions(text: str) -> tuple[str, ...]:
    """Actions from one argument, in the order given."""
    from longshore.scheduler.gang.settings import ACTIONS

    return listed(text, ACTIONS, "action")


def listed(text: str, known: tuple[str, ...], word: str) -> tuple[str, ...]:
    """Names from one argument, each one of those known."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise ArgumentTypeError(f"there is no {word} {name!r}; there are: {', '.join(known)}")
    return names


def _file(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    if not path.is_file():
        raise ArgumentTypeError(f"{text!r} is no file")
    return path
