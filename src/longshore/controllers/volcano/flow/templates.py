"""Lists in each JobTemplate the Jobs made from it. Deleted Jobs stay listed until the next Job is made."""

from __future__ import annotations

from collections.abc import Iterable

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.volcano.flow.names import BY_TEMPLATE, key_of_mark, mark, marked_by
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.queues.workqueue import WorkQueue

INDEX = "template"


def by_template(job: Obj) -> tuple[str, ...]:
    """Indexes a Job by its template."""
    return marked_by(job, BY_TEMPLATE)


def wanted(template: Obj, jobs: Iterable[Obj]) -> list[str] | None:
    """Returns the names of the template's Jobs; None if the list does not change."""
    names = [job["metadata"]["name"] for job in jobs]
    listed = (template.get("status") or {}).get("jobDependsOnList") or ()
    return names if names and sorted(listed) != sorted(names) else None


class Templates(Handler):
    """Handles changes of templates, and new Jobs through `job_added`."""

    def __init__(self, client: Client, templates: Informer, jobs: Cache, queue: WorkQueue[Key]) -> None:
        self._client, self._templates, self._jobs, self._queue = client, templates, jobs, queue
        templates.add_handler(self)

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._queue.add(key_of(obj))

    def job_added(self, job: Obj) -> None:
        """Queues the template that the Job's label names."""
        for label in by_template(job):
            self._queue.add(key_of_mark(label))

    async def sync(self, key: Key) -> float | None:
        """Writes the list if it has changed."""
        template = self._templates.cache.get(*key)
        if template is None:
            return None
        names = wanted(template, self._jobs.by_index(INDEX, mark(template)))
        if names is not None:
            status = {"status": {"jobDependsOnList": names}}
            await self._client.patch(kinds.JOB_TEMPLATES, key[1], status, key[0], subresource="status")
        return None
