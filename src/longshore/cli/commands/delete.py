"""Deletes objects and waits until they are gone, as kubectl delete does.

Objects they own are deleted too, in the background; --cascade=foreground waits for them, --cascade=orphan
keeps them.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from longshore.cli.arguments import flags, targets
from longshore.cli.main import Said
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.cli.arguments.targets import Target
    from longshore.cli.server.requests import Server

INTERMIXED = True
_PROPAGATION = {
    "background": "Background",
    "foreground": "Foreground",
    "orphan": "Orphan",
    "true": "Background",
    "false": "Orphan",
}


_FLAGS = f"""
--all                   switch        all objects of the type, in one namespace
--cascade               {"|".join(_PROPAGATION)}=background  what happens to the objects it owns
--grace-period SECONDS  int=-1        time for its processes to stop
--now                   switch        short for --grace-period 1
--force                 switch        delete at once, without waiting for processes
--wait                  switch=on     wait until the objects are gone (default)
--timeout T             seconds=0.0   longest time to wait (default: no limit)
--ignore-not-found      switch=unset  a missing object is no error
"""


def add_arguments(parser: ArgumentParser) -> None:
    targets.add_arguments(parser)
    flags.table(parser, _FLAGS)
    flags.dry_run(parser, "deleted")
    flags.table(parser, "--output, -o  |name  name: print names only")


def run(arguments: Namespace) -> int:
    _check(arguments)
    with connecting.opened(arguments) as server:
        chosen = targets.chosen(server, arguments)
        several = [target for target in chosen if not target.name]
        if several and not (arguments.all or arguments.selector or arguments.field_selector):
            raise Said("error: resource(s) were provided, but no name was specified", 2)
        if arguments.all and not several:
            raise Said("error: name cannot be provided when a selector is specified", 2)
        found = [one for target in chosen for one in _each(server, target, arguments)]
        if not found:
            print("No resources found", file=sys.stderr)
        return _delete(server, found, arguments)


def _check(arguments: Namespace) -> None:
    if arguments.now:
        if arguments.grace_period != -1:
            raise Said("error: --now and --grace-period cannot be specified together", 2)
        arguments.grace_period = 1
    if arguments.force and arguments.grace_period < 0:
        arguments.grace_period = 0
    elif arguments.grace_period == 0 and not arguments.force:
        arguments.grace_period = 1  # zero means not to wait for the node, and that has to be said
    if arguments.force and arguments.grace_period > 0:
        raise Said("error: --force and --grace-period greater than 0 cannot be specified together", 2)


def _each(server: Server, target: Target, arguments: Namespace) -> list[Target]:
    """The target itself; without a name, all objects that it matches."""
    if target.name:
        return [target]
    return [target.of(item) for item in targets.found(server, target, arguments)]


def _delete(server: Server, found: list[Target], arguments: Namespace) -> int:
    from longshore.api.errors import StatusError
    from longshore.cli.server import refusals

    if arguments.force and found:
        print(
            "Warning: Immediate deletion does not wait for confirmation that the running resource has been "
            "terminated. The resource may continue to run on the cluster indefinitely.",
            file=sys.stderr,
        )
    code = 0
    gone = []
    by_selector = arguments.all or arguments.selector or arguments.field_selector
    ignore = bool(by_selector) if arguments.ignore_not_found is None else arguments.ignore_not_found
    for target in found:
        try:
            uid = _one(server, target, arguments)
        except StatusError as err:
            if err.code == 404 and ignore:
                continue
            print(refusals.text(err), file=sys.stderr)
            code = 1
            continue
        gone.append((target, uid))
        _say(target, arguments)
    if arguments.wait and arguments.dry_run == "none":
        code = _wait(server, gone, arguments.timeout) or code
    return code


def _one(server: Server, target: Target, arguments: Namespace) -> str:
    """Requests one deletion. Returns the uid of the object; empty if the server did not send it."""
    body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    body["propagationPolicy"] = _PROPAGATION[arguments.cascade]
    if arguments.grace_period >= 0:
        body["gracePeriodSeconds"] = arguments.grace_period
    if arguments.dry_run == "server":
        body["dryRun"] = ["All"]
    if arguments.dry_run == "client":
        return str(server.json("GET", target.path)["metadata"]["uid"])
    answer = server.json("DELETE", target.path, body=body)
    if answer.get("kind") == "Status":
        return str((answer.get("details") or {}).get("uid", ""))
    return str(answer["metadata"].get("uid", ""))


def _say(target: Target, arguments: Namespace) -> None:
    if arguments.output == "name":
        print(target.text)
        return
    word = "force deleted" if arguments.force and arguments.grace_period == 0 else "deleted"
    where = f" from {target.namespace} namespace" if target.namespace else ""
    dry = flags.DRY_RUNS[arguments.dry_run]
    print(f'{target.kind.one} "{target.name}" {word}{where}{dry}', flush=True)


def _wait(server: Server, gone: list[tuple[Target, str]], timeout: float) -> int:
    from longshore.cli.server import wait_for

    patience = wait_for.deadline(timeout) if timeout > 0 else None
    for target, uid in gone:
        if not wait_for.deleted(server, target, patience, uid):
            text = f"{target.kind.plural}/{target.name}"
            print(f"error: timed out waiting for the condition on {text}", file=sys.stderr)
            return 1
    return 0
