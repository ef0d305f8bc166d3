"""Waits for a condition of objects, as kubectl wait does, and for Jobs to end, in success or failure.

longshore wait --for=done job/pi --timeout=10m      exit code 0 complete, 1 failed, 124 timed out
longshore wait --for=condition=complete job/pi
longshore wait --for=jsonpath='{.status.succeeded}'=2 job/pi
longshore wait --for=delete pod/x
longshore wait --for=create job/y
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags, targets, waiting_times
from longshore.cli.main import Failure, Said
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments.targets import Target
    from longshore.cli.server.requests import Server

INTERMIXED = True
TIMED_OUT = 124


_FLAGS = """
--timeout T   seconds  longest time to wait (default: 30s; for done, no limit)
--all         switch   all objects of the type
--output, -o  |name    name: print names only
"""


def add_arguments(parser: ArgumentParser) -> None:
    targets.add_arguments(parser)
    about = "done, condition=…, jsonpath=…, delete, create"
    parser.add_argument("--for", dest="what", required=True, metavar="W", help=about)
    flags.table(parser, _FLAGS)


def run(arguments: Namespace) -> int:
    word, _, rest = arguments.what.partition("=")
    if word not in ("done", "condition", "jsonpath", "delete", "create") or (not rest) == (
        word in ("condition", "jsonpath")
    ):
        raise Said(f'error: unrecognized condition: "{arguments.what}"', 2)
    patience = arguments.timeout if arguments.timeout is not None else (-1.0 if word == "done" else 30.0)
    until = time.monotonic() + waiting_times.patience(patience)
    with connecting.opened(arguments) as server:
        chosen = targets.chosen(server, arguments)
        find = partial(_appeared, until=until) if word == "create" else _each
        chosen = [one for target in chosen for one in find(server, target, arguments)]
        if not chosen and word != "delete":
            raise Said("error: no matching resources found")
        match word:
            case "done":
                return _done(server, chosen, until, arguments)
            case "delete":
                return _deleted(server, chosen, until, arguments)
            case "create":
                return _met(server, chosen, lambda obj: True, until, arguments)
            case "condition":
                return _met(server, chosen, _condition(rest), until, arguments)
        return _met(server, chosen, _jsonpath(rest), until, arguments)


def _each(server: Server, target: Target, arguments: Namespace) -> list[Target]:
    """The objects of a target. They must exist, unless the command waits for their deletion."""
    from longshore.api.errors import StatusError

    try:
        found = targets.found(server, target, arguments)
    except StatusError as err:
        if err.code == 404 and arguments.what == "delete":
            return []
        raise
    return [target] if target.name else [target.of(item) for item in found]


def _appeared(server: Server, target: Target, arguments: Namespace, until: float) -> list[Target]:
    """The objects of a target, as soon as there are any. A target with a name is returned at once."""
    from longshore.cli.server import wait_for as waiting

    if target.name:
        return [target]
    found = waiting.appeared(server, target, targets.selectors(arguments), until)
    if not found:
        raise Said("error: timed out waiting for the condition")
    return [target.of(item) for item in found]


def _done(server: Server, chosen: list[Target], until: float, arguments: Namespace) -> int:
    from longshore.cli.server import wait_for as waiting
    from longshore.cli.showing import outcomes

    code = 0
    for target in chosen:
        if (target.kind.group, target.kind.kind) not in outcomes.KINDS:
            raise Failure(f"{target.text}: a {target.kind.kind} has no end to wait for", 2)
        try:
            look = partial(outcomes.of, target.kind.group)
            if until <= time.monotonic():  # --timeout=0: a look, no wait
                end = look(server.json("GET", target.path))
            else:
                end = waiting.seen(server, target, look, until, existed=True)
        except waiting.Deleted:
            print(f"{target.text} was deleted before it was done", file=sys.stderr)
            code = 1
            continue
        if end is None:
            print(f"error: timed out waiting for {target.text} to be done", file=sys.stderr)
            return TIMED_OUT
        print(target.text if arguments.output == "name" else f"{target.text} {end.text}", flush=True)
        code = code if end.well else 1
    return code


def _deleted(server: Server, chosen: list[Target], until: float, arguments: Namespace) -> int:
    from longshore.cli.server import wait_for as waiting

    for target in chosen:
        if not waiting.deleted(server, target, until):
            return _late(target)
        _say(target, arguments)
    return 0


def _met(
    server: Server,
    chosen: list[Target],
    holds: Callable[[Obj], bool],
    until: float,
    arguments: Namespace,
) -> int:
    from longshore.cli.server import wait_for as waiting

    code = 0
    for target in chosen:
        if until <= time.monotonic():  # --timeout=0: a look, no wait
            if not holds(server.json("GET", target.path)):
                print(f"error: condition not met for {target.kind.plural}/{target.name}", file=sys.stderr)
                code = 1
                continue
        elif not waiting.fulfilled(server, target, holds, until):
            return _late(target)
        _say(target, arguments)
    return code


def _condition(wanted: str) -> Callable[[Obj], bool]:
    name, _, value = wanted.partition("=")
    name, value = name.lower(), (value or "true").lower()

    def holds(obj: Obj) -> bool:
        conditions = (obj.get("status") or {}).get("conditions")
        if not isinstance(conditions, list):  # a JobFlow's are a map by Job name
            return False
        for condition in conditions:
            if str(condition.get("type", "")).lower() == name:  # conditions of a Volcano Job have no type
                return str(condition.get("status", "")).lower() == value
        return False

    return holds


def _jsonpath(wanted: str) -> Callable[[Obj], bool]:
    from longshore.cli.printing import path_templates

    path, equals, value = wanted.rpartition("=")
    if not equals or wanted.endswith("}"):
        path, value = wanted, ""
    find = path_templates.finder(path)
    value = value.strip("'\"")

    def holds(obj: Obj) -> bool:
        found = find(obj)
        return bool(found) if not value else any(path_templates.shown(each) == value for each in found)

    return holds


def _say(target: Target, arguments: Namespace) -> None:
    print(target.text if arguments.output == "name" else f"{target.text} condition met", flush=True)


def _late(target: Target) -> int:
    print(
        f"error: timed out waiting for the condition on {target.kind.plural}/{target.name}", file=sys.stderr
    )
    return 1
