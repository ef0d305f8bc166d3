"""`run --attach job/x` and `resume --follow`: the display of runs that were started before.

Nothing is created. Ctrl-C and `--timeout` end the display and leave the runs as they are.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.cli.main import Failure
from longshore.cli.running import each_items, place, run_creation, run_watches
from longshore.cli.running.place import Place
from longshore.cli.running.progress import FollowedRun
from longshore.cli.running.run_session import RunSession
from longshore.cli.running.run_stopping import interrupts
from longshore.cli.server import refusals

_SPELLINGS: Final = {
    "job": ("job", "jobs", "jobs.batch", "job.batch"),
    "vcjob": ("vcjob", "vcjobs", "vj", "jobs.batch.volcano.sh", "job.batch.volcano.sh"),
    "pod": ("pod", "pods", "po"),
}


async def attach(arguments: Namespace) -> int:
    """Shows the run that `--attach` names, on the longshore that runs here."""
    kind, name = named(arguments.attach)
    file = place.running(arguments.kubeconfig, arguments.context)
    if file is None and not arguments.context:
        raise Failure(f"no longshore runs here, so {kind}/{name} cannot be followed")
    return await follow(arguments, file, [(kind, arguments.namespace, name)])


async def follow(arguments: Namespace, file: Path | None, titles: Sequence[tuple[str, str, str]]) -> int:
    """Shows the runs of these kinds, namespaces and names to their end. Returns the exit code of `run`."""
    with refusals.as_failure():
        async with place.connected(file, arguments) as here:
            interrupted = interrupts()
            runs = [await _found(here, *title) for title in titles]
            return await RunSession(here, arguments, watching=True).to_the_end(runs, interrupted, [])


def named(word: str) -> tuple[str, str]:
    """`job` and `x` for `job/x`, `jobs/x` or `x`."""
    spelled, _, name = word.rpartition("/")
    for kind, spellings in _SPELLINGS.items():
        if name and (spelled or "job") in spellings:
            return kind, name
    raise Failure(f"{word!r} is no run: name it as job/NAME, vcjob/NAME or pod/NAME", 2)


def with_defaults_of_run(arguments: Namespace) -> Namespace:
    """The arguments of another command, with every flag of `run` that it does not have."""
    from longshore.cli.commands import run

    parser = ArgumentParser()
    run.add_arguments(parser)
    return Namespace(**{**vars(parser.parse_args([])), **vars(arguments)})


async def _found(here: Place, kind: str, namespace: str, name: str) -> FollowedRun:
    what = run_watches.KINDS[kind]
    obj = await here.client.get(what, name, namespace or here.namespace)
    resource = await here.client.resource(what)
    begun, ended = _times(obj)
    lasted = (ended or time.time()) - begun
    now = time.monotonic()
    run = run_creation.run_of(kind, resource.group, obj, now - lasted)
    run.found, run.finished = True, now if run.end is not None else 0.0
    run.items = each_items.names_of(obj)
    return run


def _times(obj: Obj) -> tuple[float, float]:
    """When the object began and when it ended (0 if it has not), in seconds since 1970."""
    status = obj.get("status") or {}
    ends = [each["lastTransitionTime"] for each in status.get("conditions") or () if _is_end(each)]
    begun = status.get("startTime") or obj["metadata"]["creationTimestamp"]
    return rfc3339.seconds(begun), rfc3339.seconds(ends[-1]) if ends else 0.0


def _is_end(condition: Obj) -> bool:
    kind: str = condition.get("type", "")
    return (
        kind in ("Complete", "Failed")
        and condition.get("status") == "True"
        and "lastTransitionTime" in condition
    )
