"""`longshore retry job/x`: a new Job for what a Job that has ended did not complete, followed to its end."""

from __future__ import annotations

import contextlib
import os.path
from argparse import Namespace
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import job_state, kinds
from longshore.api.types import Obj
from longshore.cli.arguments.manifest_files import Manifest
from longshore.cli.main import Failure
from longshore.cli.running import again, attaching, each_items, place, run_creation
from longshore.cli.running.place import Place
from longshore.cli.running.run import Session, interrupts
from longshore.cli.server import refusals
from longshore.client import Unreachable

_VOLCANO: Final = (
    "a Volcano Job has no indexes to retry, and its policies restart its tasks only while it runs; "
    "run its manifest again with: longshore run --replace FILE"
)


async def main(arguments: Namespace) -> int:
    """Creates the new Job and follows it, or with `--no-follow` leaves it alone. Returns the exit code."""
    kind, name = attaching.named(arguments.job)
    if kind != "job":
        raise Failure(
            _VOLCANO if kind == "vcjob" else "only a Job can be retried: longshore retry job/NAME", 2
        )
    file = place.running(arguments.kubeconfig, arguments.context)
    if file is None and not arguments.context:
        raise Failure(f"no longshore runs here, so job/{name} cannot be retried")
    with refusals.told():
        async with place.connected(file, arguments) as here:
            return await _on_a_server(here, arguments, name)


async def _on_a_server(here: Place, arguments: Namespace, name: str) -> int:
    job = await here.client.get(kinds.JOBS, name, here.namespace)
    if not arguments.all and _complete(job):
        print(f"job/{name} is complete: there is nothing to retry; run all of it again with --all")
        return 0
    _check(job)
    taken = {each["metadata"]["name"] for each in (await here.client.list(kinds.JOBS, here.namespace)).items}
    new = again.retry(job, taken, everything=arguments.all)
    session = Session(here, arguments)
    plan = await run_creation.plan(
        here, [Manifest(new.job, f"job/{name}")], arguments.namespace, whole_logs=session.shows_logs
    )
    interrupted = interrupts()
    runs = await run_creation.start(here, plan, replace=False, done=new.done)
    with contextlib.suppress(StatusError, Unreachable):
        mark = {"metadata": {"annotations": {again.RETRIED_BY: runs[0].name}}}
        await here.client.patch(kinds.JOBS, name, mark, here.namespace)
    if not arguments.follow:
        print(f"job.batch/{runs[0].name} created: it runs {new.left} of job/{name} again")
        return 0
    said = f"job/{runs[0].name} is a retry of job/{name}: it runs {new.left} again"
    runs[0].items = each_items.names_of(job)
    session.say(said)
    return await session.to_the_end(runs, interrupted, [said])


def _complete(job: Obj) -> bool:
    end = job_state.end_of(job)
    return end is not None and end["type"] == "Complete"


def _check(job: Obj) -> None:
    """Refuses a Job that has not ended, or whose items are gone."""
    title = f"job/{job['metadata']['name']}"
    if not job_state.has_ended(job):
        if job["spec"].get("suspend"):
            raise Failure(f"{title} is suspended; go on with: longshore resume --follow {title}")
        raise Failure(f"{title} has not ended; follow it with: longshore run --attach {title}")
    items, _ = each_items.file_of(job)
    if items and not os.path.exists(items):
        raise Failure(f"the items of {title} are gone ({items}); run it again with: longshore run --each")
