"""`run --resume`: continues the last run of the same name. Completed work is not run again.

Items are compared by their text, so the list may have grown or changed its order since. On a longshore that
keeps running, a suspended Job of the same work is resumed; else the new Job is a retry of the old one
(`plane/job_retry.py`).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import NamedTuple

from longshore.api import indexes
from longshore.api.errors import StatusError
from longshore.api.facts import job_state, kinds, own_names
from longshore.api.indexes import Runs
from longshore.api.types import Obj
from longshore.cli.kept import run_records
from longshore.cli.main import Failure
from longshore.cli.running import each_items, run_creation
from longshore.cli.running.each_items import Items
from longshore.cli.running.place import Place
from longshore.cli.running.progress import FollowedRun
from longshore.plane import job_retry


class Rest(NamedTuple):
    """The work that is left."""

    job: Obj
    done: Runs = ()
    """Indexes of `job` that an earlier run completed."""
    said: str = ""
    suspended: str = ""
    """The name of a Job that only has to be resumed."""
    complete: bool = False
    """Whether nothing is left."""


async def rest(here: Place, job: Obj, items: Items | None) -> Rest:
    """The work of `job` that no earlier run of its name has done. Raises Failure while one is under way."""
    name = job["metadata"]["name"]
    old = _kept(name) if here.throw_away else await _latest(here, name)
    if old is None:
        return Rest(job, said=f"no earlier run named {name} is known: everything is run")
    title, total = f"job/{old['metadata']['name']}", job["spec"]["completions"]
    done = completed(old, items, total)
    count = indexes.count(done)
    if count == total:
        return Rest(
            job, done, f"{title} has done all {total} already: there is nothing to run", complete=True
        )
    said = f"{title} has done {count} of {total}: the rest is run"
    if here.throw_away:
        return Rest(job, done, said)
    if not job_state.has_ended(old):
        if not old["spec"].get("suspend"):
            raise Failure(f"{title} is under way; follow it with: longshore run --attach {title}")
        if _same_work(old, job, items):
            return Rest(job, done, said, old["metadata"]["name"])
    taken = await job_retry.names_of_jobs(here.client, here.namespace)
    meta = {
        "name": job_retry.next_name(old["metadata"]["name"], taken, total),
        "annotations": {own_names.RETRY_OF: old["metadata"]["name"]},
    }
    return Rest({**job, "metadata": meta}, done, said)


async def let_go(here: Place, name: str, items: Items | None) -> FollowedRun:
    """Resumes a suspended Job."""
    job = await here.client.patch(kinds.JOBS, name, {"spec": {"suspend": False}}, here.namespace)
    run = run_creation.run_of("job", "batch", job, time.monotonic())
    run.found, run.items = True, items.names if items is not None else []
    return run


def completed(old: Obj, items: Items | None, total: int) -> Runs:
    """The indexes of the new work that `old` has completed: found by item, or without items by number."""
    title, before = f"job/{old['metadata']['name']}", old["spec"].get("completions") or 0
    done = indexes.read((old.get("status") or {}).get("completedIndexes") or "", before)
    had_items = bool(each_items.file_of(old)[0])
    if old["spec"].get("completionMode") != "Indexed" or had_items != (items is not None):
        raise Failure(f"{title} did other work, so it cannot be resumed; choose another --name", 2)
    if items is None:
        return indexes.read(indexes.write(done), total)
    known = each_items.of_job(old)
    if known is None:
        raise Failure(f"the items of {title} are gone, so it is unknown which are done", 2)
    left = Counter(known.rows[index] for first, last in done for index in range(first, last + 1))
    found = []
    for index, row in enumerate(items.rows):
        if left[row] > 0:
            left[row] -= 1
            found.append(index)
    return indexes.from_sorted(found)


def _same_work(old: Obj, new: Obj, items: Items | None) -> bool:
    """Whether both Jobs run the same command on the same items."""
    before, now = (job["spec"]["template"]["spec"]["containers"][0] for job in (old, new))
    rows = each_items.of_job(old)
    alike = (rows.rows if rows is not None else None) == (items.rows if items is not None else None)
    return bool(
        alike
        and before.get("command") == now["command"]
        and old["spec"]["completions"] == new["spec"]["completions"]
    )


def _kept(name: str) -> Obj | None:
    """The Job of the last throw-away run of this name, or of a retry of it."""
    ours = re.compile(rf"{re.escape(name)}(-retry-\d+)?")
    for record in run_records.every(run_records.root()):
        for one in record.objects.values():
            if one.kind == "job" and ours.fullmatch(one.name):
                if record.result == "running":
                    raise Failure(f"a run named {one.name} is under way in another process")
                return one.job()
    return None


async def _latest(here: Place, name: str) -> Obj | None:
    """The Job of this name, or the last retry of it."""
    job: Obj | None = None
    seen: set[str] = set()
    while name and name not in seen:
        seen.add(name)
        try:
            job = await here.client.get(kinds.JOBS, name, here.namespace)
        except StatusError as err:
            if err.code != 404:
                raise
            break
        name = (job["metadata"].get("annotations") or {}).get(own_names.RETRIED_BY, "")
    return job
