"""Creates a Job that starts with some indexes completed, because an earlier Job has done them.

The Job is created suspended, the completed indexes are written into its status, and it is resumed. The Job
controller continues from the status, so no index runs twice, on any Kubernetes.
"""

from __future__ import annotations

from contextlib import suppress

from longshore.api import indexes
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names
from longshore.api.indexes import Runs
from longshore.api.types import Obj
from longshore.client import Client


def held(job: Obj) -> Obj:
    """The manifest with `suspend: true`: the Job creates no pods until `let_go`."""
    return {**job, "spec": {**job["spec"], "suspend": True}}


async def let_go(client: Client, job: Obj, done: Runs) -> Obj:
    """Marks these indexes of a `held` Job as completed, and resumes it."""
    meta = job["metadata"]
    status = {"completedIndexes": indexes.write(done), "succeeded": indexes.count(done)}
    await client.patch(kinds.JOBS, meta["name"], {"status": status}, meta["namespace"], subresource="status")
    started = {"spec": {"suspend": False}}
    return await client.patch(kinds.JOBS, meta["name"], started, meta["namespace"])


async def link(client: Client, made: Obj) -> None:
    """Annotates the Job that `made` is a retry of, if that Job exists."""
    meta = made["metadata"]
    old = (meta.get("annotations") or {}).get(own_names.RETRY_OF)
    if old is not None:
        with suppress(StatusError):
            mark = {"metadata": {"annotations": {own_names.RETRIED_BY: meta["name"]}}}
            await client.patch(kinds.JOBS, old, mark, meta["namespace"])
