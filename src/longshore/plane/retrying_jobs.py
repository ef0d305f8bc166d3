"""Retries as a resource: creating one of `jobretries` of longshore.dev, `{"job": "convert"}`, creates the Job
that `longshore retry job/convert --no-follow` creates, and returns its name.

All requests use the caller's rights: to read, create and patch Jobs, and to patch their status. The new Job
is not followed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from longshore.api import errors
from longshore.api.facts import job_state, kinds
from longshore.api.types import Obj
from longshore.apiserver.request.call import Call
from longshore.client.local import LocalClient
from longshore.plane import job_retry

if TYPE_CHECKING:
    from longshore.apiserver.api import Api


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
    return await _retried(LocalClient(api, manager="longshore-ui", user=call.user), call.namespace, wish)


async def _retried(client: LocalClient, namespace: str, wish: Wish) -> Obj:
    job = await client.get(kinds.JOBS, wish.job, namespace)
    end = job_state.end_of(job)
    if end is None:
        raise errors.bad_request(f"job/{wish.job} has not ended: only a Job that has ended can be retried")
    if end["type"] == "Complete" and not wish.all:
        raise errors.bad_request(f'job/{wish.job} is complete; run all of it again with "all": true')
    taken = await job_retry.names_of_jobs(client, namespace)
    new = job_retry.retry(job, taken, everything=wish.all)
    create = partial(client.create, kinds.JOBS, namespace=namespace)
    made = await job_retry.seeded(client, create, new.job, new.done)
    name = made["metadata"]["name"]
    return {"metadata": {"name": name, "namespace": namespace}, "status": {"job": name, "runs": new.left}}
