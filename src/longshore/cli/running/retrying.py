"""`longshore retry job/x`: a new Job for what a Job that has ended did not complete, followed to its end.

The Job is looked for on the longshore that runs here, then among the records of throw-away runs.
"""

from __future__ import annotations

import os.path
from argparse import Namespace
from typing import Final

from longshore.api import types
from longshore.api.errors import StatusError
from longshore.api.facts import job_state, kinds, own_names
from longshore.api.types import Obj
from longshore.cli.arguments.manifest_files import Manifest
from longshore.cli.kept import run_records
from longshore.cli.kept.run_records import RunRecord
from longshore.cli.main import Failure
from longshore.cli.running import attaching, each_items, place, run_creation
from longshore.cli.running.place import Place
from longshore.cli.running.run_session import RunSession
from longshore.cli.server import refusals
from longshore.plane import job_retry

_VOLCANO: Final = (
    "a Volcano Job has no indexes to retry, and its policies restart its tasks only while it runs; "
    "run its manifest again with: longshore run --replace FILE"
)


async def main(arguments: Namespace) -> int:
    """Creates the new Job and follows it, unless `--no-follow` is given. Returns the exit code."""
    kind, name = attaching.named(arguments.job)
    if kind != "job":
        raise Failure(
            _VOLCANO if kind == "vcjob" else "only a Job can be retried: longshore retry job/NAME", 2
        )
    if place.running(arguments.kubeconfig, arguments.context) is None and not arguments.context:
        job, record = _kept(name)
        if not arguments.follow:
            raise Failure("no longshore runs here, so a retry ends with this command: it must be followed", 2)
    else:
        job, record = {}, None
    with refusals.as_failure():
        async with place.opened(arguments) as here:
            if not job:
                job, record = await _served(here, name)
            return await _retry(here, arguments, job, record)


def _kept(name: str) -> tuple[Obj, RunRecord]:
    """The Job of a throw-away run that has ended, and the record of the run."""
    found = run_records.find(f"job/{name}")
    if found is None or found[1] is None:
        raise Failure(f"no longshore runs here, and no run named {name} is kept; see: longshore history")
    if found[0].result == "running":
        raise Failure(f"the run {name} is under way in another process")
    return found[1].job(), found[0]


async def _served(here: Place, name: str) -> tuple[Obj, RunRecord | None]:
    """The Job on this server, else the Job of a throw-away run with its record."""
    try:
        job = await here.client.get(kinds.JOBS, name, here.namespace)
    except StatusError as err:
        if err.code != 404 or run_records.find(f"job/{name}") is None:
            raise
        return _kept(name)
    _check_ended(job)
    return job, None


async def _retry(here: Place, arguments: Namespace, job: Obj, record: RunRecord | None) -> int:
    """Creates the retry of a Job and follows it. `record` is that of its throw-away run, if it has one."""
    title = f"job/{job['metadata']['name']}"
    if not arguments.all and _complete(job):
        print(f"{title} is complete: there is nothing to retry; run all of it again with --all")
        return 0
    taken = await job_retry.names_of_jobs(here.client, here.namespace)
    if record is not None:
        kept = run_records.every(run_records.root())
        taken |= {one.name for each in kept for one in each.objects.values()}
        job = _with_items(here, job)
    _check_items(job)
    new = job_retry.retry(job, taken, everything=arguments.all)
    manifests = [Manifest(obj, title) for obj in (*(record.needed if record else ()), new.job)]
    if not arguments.follow:
        plan = await run_creation.plan(here, manifests, arguments.namespace)
        (run,) = await run_creation.start(here, plan, replace=False, done=new.done)
        print(f"job.batch/{run.name} created: it runs {new.left} of {title} again")
        return 0
    said = f"job/{new.job['metadata']['name']} is a retry of {title}: it runs {new.left} again"
    command = record.command if record is not None else f"retry of {title}"
    return await RunSession(here, arguments).run(manifests, done=new.done, said=[said], command=command)


def _with_items(here: Place, job: Obj) -> Obj:
    """Copies the Job's items to this longshore, because the record may be removed before the Job."""
    items = each_items.of_job(job)
    if items is None:
        return job
    made: Obj = types.copy_of(job)
    annotations = made["spec"]["template"]["metadata"]["annotations"]
    annotations[own_names.ITEMS_FILE] = str(each_items.keep(items, here.directory))
    return made


def _check_items(job: Obj) -> None:
    """Refuses a Job whose file of items is missing."""
    title, (items, _) = f"job/{job['metadata']['name']}", each_items.file_of(job)
    if items and not os.path.exists(items):
        raise Failure(f"the items of {title} are gone ({items}); run it again with: longshore run --each")


def _complete(job: Obj) -> bool:
    end = job_state.end_of(job)
    return end is not None and end["type"] == "Complete"


def _check_ended(job: Obj) -> None:
    title = f"job/{job['metadata']['name']}"
    if job_state.has_ended(job):
        return
    if job["spec"].get("suspend"):
        raise Failure(f"{title} is suspended; go on with: longshore resume --follow {title}")
    raise Failure(f"{title} has not ended; follow it with: longshore run --attach {title}")
