"""Flags of processes that run for months: how they log, how much their controllers do, what they keep."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags, waiting_times
from longshore.cli.main import Failure

if TYPE_CHECKING:
    from longshore.api.retention import Retention
    from longshore.machinery.work_limits import WorkLimits
    from longshore.scheduler.gang.conf.conf_file import ConfFile
    from longshore.up.logs import Logging


def add_logging(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-v",
        dest="verbosity",
        action="count",
        default=0,
        help="log more: -v also events, such as of pods created and deleted; -vv also each sync with its "
        "duration (default: warnings and errors)",
    )
    form = "--log-format  text|json=text  the form of the log on standard error (default: text)"
    flags.table(parser, form)


def logging_of(arguments: Namespace) -> Logging:
    from longshore.up.logs import Logging

    return Logging(arguments.verbosity, arguments.log_format)


_LIMITS = """
--workers N|NAME=N,…      workers  objects that each controller, or those named, handle at the same time
                                   (default: {usual})
--resync T                seconds  sync every object again after this time without a change, such as 10h
                                   (default: never)
--retries NAME=LIMIT,…    retries  pace of retries: max-pause=T, the longest pause of one object (default:
                                   each controller's own); rate=N and burst=N, tries a second of all objects
                                   of one controller together (default: rate=10,burst=100); max-requeues=N,
                                   refusals in a row after which a Volcano Job is ended, -1 for never
                                   (default: 15)
"""
_SCHEDULING = """
--scheduler-actions LIST  actions  actions of a gang scheduling cycle, in order: some of enqueue, allocate,
                                   backfill, preempt, reclaim (default: enqueue,allocate,backfill)
--scheduler-conf FILE     file     Volcano's scheduler.conf: actions, tiers of plugins and their arguments;
                                   read again when it changes
"""


def add_work_limits(parser: ArgumentParser) -> None:
    from longshore.plane.controllers import WORKERS

    usual = ",".join(f"{name}={count}" for name, count in WORKERS.items())
    flags.table(parser, _LIMITS.format(usual=usual), workers=_workers, seconds=_seconds, retries=_retries)
    parser.set_defaults(workers={}, retries={})


def work_limits_of(arguments: Namespace) -> WorkLimits:
    from longshore.machinery.work_limits import WorkLimits

    return WorkLimits(workers=arguments.workers, resync=arguments.resync, **arguments.retries)


def add_retention(parser: ArgumentParser) -> None:
    from longshore.api.retention import NAMES, Retention

    parser.add_argument(
        "--keep",
        type=_retention,
        default=Retention(),
        metavar="NAME=LIMIT,…",
        help=f"how much finished work is kept: {', '.join(NAMES)}; such as events=50k,history-age=2160h "
        "(defaults: see longshore status)",
    )


def _retention(text: str) -> Retention:
    from longshore.api import retention

    try:
        return retention.parse(text)
    except retention.BadLimit as err:
        raise ArgumentTypeError(str(err)) from None


def _workers(text: str) -> dict[str, int]:
    from longshore.plane.controllers import CONTROLLERS, WORKERS

    if "=" not in text:
        if not text.isdigit() or int(text) < 1:
            raise ArgumentTypeError(f"{text!r} is not a whole number from 1, nor NAME=NUMBER")
        return dict.fromkeys(WORKERS, int(text))
    found = {}
    for name, value in _pairs(text):
        if name in CONTROLLERS and name not in WORKERS:
            raise ArgumentTypeError(f"controller {name} looks at one object at a time")
        if name not in WORKERS:
            raise ArgumentTypeError(f"there is no controller {name!r}; there are: {', '.join(WORKERS)}")
        found[name] = _whole(name, value)
    return found


def _retries(text: str) -> dict[str, float]:
    readers: dict[str, Callable[[str], float]] = {
        "max-pause": _seconds,
        "rate": lambda value: _whole("rate", value),
        "burst": lambda value: _whole("burst", value),
        "max-requeues": lambda value: -1 if value == "-1" else _whole("max-requeues", value),
    }
    found = {}
    for name, value in _pairs(text):
        if name not in readers:
            raise ArgumentTypeError(f"{name!r} is none of: {', '.join(readers)}")
        found[name.replace("-", "_")] = readers[name](value)
    return found


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals:
            raise ArgumentTypeError(f"{part.strip()!r} is not NAME=NUMBER")
        pairs.append((name, value))
    return pairs


def _whole(name: str, text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{name}: {text!r} is not a whole number from 1")
    return int(text)


def _seconds(text: str) -> float:
    seconds = waiting_times.seconds(text)
    if seconds <= 0:
        raise ArgumentTypeError(f"{text!r} must be more than 0")
    return seconds


def add_scheduling(parser: ArgumentParser) -> None:
    one = parser.add_mutually_exclusive_group()
    flags.table(one, _SCHEDULING, actions=actions, file=flags.file)


def conf_of(arguments: Namespace) -> ConfFile | None:
    """Reads the file of `--scheduler-conf`; None without one. A mistake in it ends the command."""
    if arguments.scheduler_conf is None:
        return None
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


def listed(text: str, known: tuple[str, ...], word: str, more: str = "") -> tuple[str, ...]:
    """Names from one argument, each one of those known; `more` ends the refusal of others."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise ArgumentTypeError(f"there is no {word} {name!r}; there are: {', '.join(known)}{more}")
    return names
