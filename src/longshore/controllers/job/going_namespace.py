"""Finds out whether a namespace is being deleted, for Jobs that create no pods.

A failed pod is kept until a replacement carries on the failure count of its index, or until a replacement is
refused because the namespace is terminating. A suspended Job, or one without parallelism, creates none. If
such a pod is deleted, a dry-run create shows the state of the namespace; it needs no additional right.
"""

from __future__ import annotations

from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.job.plan import JobPlan
from longshore.machinery.writes.pod_control import is_namespace_terminating

LOOK_AGAIN_SECONDS: Final = 60.0
"""Seconds between checks while such a pod waits: the controller does not watch namespaces."""


def is_to_be_asked_for(plan: JobPlan) -> bool:
    """Whether a deleted pod is kept for a replacement that the Job will not create."""
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
