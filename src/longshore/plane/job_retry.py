"""Makes the Job that runs again what another Job did not complete.

The retry of an Indexed Job keeps its indexes: it has as many completions, and starts with the done indexes as
completed (`seeded`). So each index has the same number, item and variables as before. The retry of a
Job without indexes gets as many completions as are missing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from longshore.api import errors, indexes, types
from longshore.api.errors import StatusError
from longshore.api.facts import job_state, kinds, own_names
from longshore.api.indexes import Runs
from longshore.api.types import Obj
from longshore.client import Client

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.call import Call

_NAME: Final = re.compile(r"(.*?)(?:-retry-(\d+))?")
_MAX_NAME_LENGTH: Final = 63
"""Kubernetes' limit for a pod's host name, which is the Job's name, a dash and the index."""
_GENERATED_LABELS: Final = (
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
)
_OWN_ANNOTATIONS: Final = (
    own_names.RETRY_OF,
    own_names.RETRIED_BY,
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
    "batch.kubernetes.io/job-tracking",
    "kubectl.kubernetes.io/last-applied-configuration",
)
"""Annotations that concern only the old Job."""


class Again(NamedTuple):
    job: Obj
    done: Runs
    """Indexes that the new Job starts with as completed."""
    left: str
    """The completions that the new Job runs, in words: `indexes 2,5`."""


def retry(job: Obj, taken: set[str], *, everything: bool) -> Again:
    """The retry of a Job that has ended. `taken` are existing names; `everything` runs all of it again."""
    old, status = job["spec"], job.get("status") or {}
    spec: Obj = types.copy_of(old)
    for key in ("selector", "manualSelector", "suspend"):
        spec.pop(key, None)
    labels = spec["template"].get("metadata", {}).get("labels") or {}
    for key in _GENERATED_LABELS:
        labels.pop(key, None)
    completions, left = old.get("completions"), "everything"
    done: Runs = ()
    if not everything and old.get("completionMode") == "Indexed":
        done = indexes.read(status.get("completedIndexes") or "", completions)
        missing = indexes.from_sorted([*indexes.missing(done, completions)])
        several = "index" if indexes.count(missing) == 1 else "indexes"
        left = f"{several} {indexes.write(missing)}" if done else left
    elif not everything and completions is not None and status.get("succeeded"):
        spec["completions"] = completions - status["succeeded"]
        left = f"{spec['completions']} of {completions} completions"
    meta = job["metadata"]
    kept = {key: value for key, value in _of(meta, "annotations") if key not in _OWN_ANNOTATIONS}
    made: Obj = {
        "name": next_name(meta["name"], taken, completions or 0),
        "namespace": meta["namespace"],
        "annotations": {**kept, own_names.RETRY_OF: meta["name"]},
    }
    if own := {key: value for key, value in _of(meta, "labels") if key not in _GENERATED_LABELS}:
        made["labels"] = own
    return Again({"apiVersion": "batch/v1", "kind": "Job", "metadata": made, "spec": spec}, done, left)


def _of(meta: Obj, part: str) -> list[tuple[str, str]]:
    return [*(meta.get(part) or {}).items()]


def next_name(old: str, taken: set[str], completions: int) -> str:
    """The first free name of a retry: `x-retry-1` for `x`, `x-retry-2` for `x-retry-1`."""
    match = _NAME.fullmatch(old)
    assert match is not None
    number = int(match[2] or 0)
    while True:
        number += 1
        end = f"-retry-{number}"
        room = _MAX_NAME_LENGTH - len(end) - len(str(completions)) - 1
        name = match[1][:room].rstrip("-.") + end
        if name not in taken:
            return name


# A Job that starts with some indexes completed, because an earlier Job has done them, is created suspended.
# The completed indexes are written into its status, and it is resumed. The Job controller continues from the
# status, so no index runs twice, on any Kubernetes.


async def names_of_jobs(client: Client, namespace: str) -> set[str]:
    """The names of existing Jobs, which a retry cannot have."""
    return {job["metadata"]["name"] for job in (await client.list(kinds.JOBS, namespace)).items}


async def seeded(client: Client, create: Callable[[Obj], Awaitable[Obj]], job: Obj, done: Runs) -> Obj:
    """Creates the Job with `create`, with these indexes completed, and links it to the Job that it
    retries."""
    made = await create({**job, "spec": {**job["spec"], "suspend": True}} if done else job)
    if done:
        made = await _let_go(client, made, done)
    await _link(client, made)
    return made


async def _let_go(client: Client, job: Obj, done: Runs) -> Obj:
    """Marks these indexes as completed in the suspended Job, and resumes the Job."""
    meta = job["metadata"]
    status = {"completedIndexes": indexes.write(done), "succeeded": indexes.count(done)}
    await client.patch(kinds.JOBS, meta["name"], {"status": status}, meta["namespace"], subresource="status")
    started = {"spec": {"suspend": False}}
    return await client.patch(kinds.JOBS, meta["name"], started, meta["namespace"])


async def _link(client: Client, made: Obj) -> None:
    """Annotates the Job that `made` is a retry of, if that Job exists."""
    meta = made["metadata"]
    old = (meta.get("annotations") or {}).get(own_names.RETRY_OF)
    if old is not None:
        with suppress(StatusError):
            mark = {"metadata": {"annotations": {own_names.RETRIED_BY: meta["name"]}}}
            await client.patch(kinds.JOBS, old, mark, meta["namespace"])


# Retries as a resource: creating one of `jobretries` of longshore.dev, `{"job": "convert"}`, creates the Job
# that `longshore retry job/convert --no-follow` creates, and returns its name. All requests use the rights of
# the caller: it needs those to read and create Jobs and to patch them and their status.


class Wish(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request; `all` runs everything again, instead of only what did not complete."""

    job: str
    all: bool = False
    apiVersion: str = ""
    kind: str = ""
    metadata: Obj = {}


async def answer(api: Api, call: Call) -> Obj:
    """Creates the retry that a request asks for."""
    try:
        wish = msgspec.json.decode(call.body, type=Wish)
    except msgspec.DecodeError as err:
        raise errors.bad_request(f'a retry is {{"job": NAME, "all": false}}: {err}') from None
    from longshore.client.local import LocalClient  # not needed by a command line

    client = LocalClient(api, manager="longshore-ui", user=call.user)
    return await _retried(client, call.namespace, wish)


async def _retried(client: Client, namespace: str, wish: Wish) -> Obj:
    job = await client.get(kinds.JOBS, wish.job, namespace)
    end = job_state.end_of(job)
    if end is None:
        raise errors.bad_request(f"job/{wish.job} has not ended: only a Job that has ended can be retried")
    if end["type"] == "Complete" and not wish.all:
        raise errors.bad_request(f'job/{wish.job} is complete; run all of it again with "all": true')
    taken = await names_of_jobs(client, namespace)
    new = retry(job, taken, everything=wish.all)
    create = partial(client.create, kinds.JOBS, namespace=namespace)
    made = await seeded(client, create, new.job, new.done)
    name = made["metadata"]["name"]
    return {"metadata": {"name": name, "namespace": namespace}, "status": {"job": name, "runs": new.left}}
