"""Finds the Job of a pod, and decides which Jobs this controller manages."""

from __future__ import annotations

from collections.abc import Iterator

from longshore.api.types import Obj
from longshore.controllers.job.spec import RESERVED_MANAGER
from longshore.controllers.job.waking import selector_index
from longshore.machinery.informers.cache import Cache


class Ownership:
    """`managed_by` is the spec.managedBy of the Jobs to manage; a Job without it is Kubernetes' own."""

    def __init__(self, jobs: Cache, managed_by: str = RESERVED_MANAGER) -> None:
        self._jobs, self._managed_by = jobs, managed_by

    def ours(self, job: Obj) -> bool:
        return self.manager(job) == self._managed_by

    def manager(self, job: Obj) -> str:
        manager: str | None = job["spec"].get("managedBy")
        return RESERVED_MANAGER if manager is None else manager

    def resolve(self, namespace: str, ref: Obj) -> Obj | None:
        """Returns the Job that a controller reference names; None if no Job has that name and UID."""
        if ref["kind"] != "Job":
            return None
        job = self._jobs.get(namespace, ref["name"])
        return job if job is not None and job["metadata"]["uid"] == ref["uid"] else None

    def selecting(self, pod: Obj) -> Iterator[Obj]:
        """Yields the Jobs whose selector matches the pod; none for a pod without labels."""
        has = pod["metadata"].get("labels")
        if not has:
            return
        for key in selector_index.selecting_keys(pod):
            for job in self._jobs.by_index(selector_index.JOBS_BY_SELECTOR, key):
                if selector_index.matcher(job)(has):
                    yield job
