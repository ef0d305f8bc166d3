"""Finds out that the namespace of a Job that creates no pods is being deleted.

A failed pod is kept until a replacement carries the count of its index on, and let go of when a replacement
is refused because the namespace is going. A Job that is suspended, or has no parallelism, asks for none. Once
somebody deletes such a pod, a create that stores nothing tells; the controller may do that anyway.
"""

from __future__ import annotations

from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.job.plan import Plan
from longshore.machinery.writes.pod_control import is_namespace_terminating

LOOK_AGAIN_SECONDS: Final = 60.0
"""While the pod waits and the namespace is not going: nobody tells the controller when it does."""


def is_to_be_asked_for(plan: Plan) -> bool:
    """Whether a deleted pod is kept for a replacement that the Job does not ask for."""
    if plan.indexes is None or plan.view.namespace_going or plan.create:
        return False
    halted = plan.spec.suspended or not plan.spec.parallelism
    return halted and any("deletionTimestamp" in pod["metadata"] for pod in plan.indexes.delayed.values())


async def is_going(client: Client, job: Obj) -> bool:
    """Whether the namespace of the Job is being deleted."""
    meta = job["metadata"]
    pod = {"metadata": {"generateName": f"{meta['name']}-"}, "spec": job["spec"]["template"]["spec"]}
    try:
        await client.create(kinds.PODS, pod, meta["namespace"], dry_run=True)
    except StatusError as err:
        return is_namespace_terminating(err)
    return False
