"""Carries plans out: pods, then the three writes. Never decides; a crash after any single write is safe.

After any error, expectations of writes that may not have happened are removed: an open one would stop the Job
for five minutes, or keep its pods from ever being counted.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Sequence, Set

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.controllers.job.memory import JobMemory
from longshore.controllers.job.plan import JobPlan, PodResults
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.spec import FINALIZER
from longshore.controllers.job.waking import unanswered_creates
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.informers.cache import Key
from longshore.machinery.writes.pod_control import (
    NoLabels,
    PodControl,
    is_namespace_terminating,
    side_by_side,
)

FAILURES = (StatusError, Unreachable, NoLabels)
"""The errors that a write may raise."""


class Act:
    """The writes of one sync."""

    def __init__(self, client: Client, recorder: Recorder, memory: JobMemory, key: Key, job: Obj) -> None:
        self._recorder, self._memory, self._key = recorder, memory, key
        self._client = client.in_order()
        """The client for statuses and finalizers. It does not wait for each write: every write builds on the
        one before it, and the next sync repeats any that is lost."""
        self._stripped: list[str] = []
        self._uid: str = job["metadata"]["uid"]
        self._about = reference(job, kinds.JOBS)
        self._pods = PodControl(client, recorder)
        self._pods_in_order = PodControl(self._client, recorder)

    def event(self, type: str, reason: str, message: str) -> None:
        self._recorder.event(self._about, type, reason, message)

    def wrote_pod(self, pod: Obj) -> None:
        """Makes the next sync wait until the cache shows this version of the pod."""
        self._memory.own_writes.wrote(self._key, self._uid, "pods", pod)

    async def change_pods(self, plan: JobPlan) -> tuple[PodResults, Exception | None]:
        """Deletes, releases or creates the plan's pods. Returns the numbers done and the first error."""
        if plan.create:
            return await self._create(plan.create)
        if plan.release:
            return await self._release_all(plan.release)
        if plan.delete:
            succeeds = plan.outcome is not None and plan.outcome.success
            return await self._remove(plan.delete, self._kill if succeeds else self._delete)
        return PodResults(), None

    async def write_status(self, job: Obj, status: Obj) -> Obj:
        """Writes the status over exactly the version of the Job that it was derived from."""
        answer = await self._client.update_status(kinds.JOBS, {**job, "status": status}, self._key[0])
        self._memory.own_writes.wrote(self._key, self._uid, "jobs.batch", answer)
        return answer

    async def durable(self) -> None:
        """Waits until all writes are durable. If that fails, forgets them, as a restarted controller would;
        the order of the writes makes this safe."""
        try:
            await self._client.durable()
        except BaseException:
            for uid in self._stripped:
                self._memory.going.observed(self._key, uid)
            self._memory.own_writes.forget(self._key, self._uid)
            raise

    async def strip(self, pods: Sequence[Obj]) -> tuple[Set[str], Exception | None]:
        """Removes the finalizer from pods. Returns the UIDs of pods without it, and the first error."""
        if not pods:
            return frozenset(), None
        uids = [pod["metadata"]["uid"] for pod in pods]
        self._memory.going.expect(self._key, uids)
        names = [pod["metadata"]["name"] for pod in pods]
        gone: set[str] = set()
        first: Exception | None = None
        self._stripped += uids
        try:
            results = await self._pods_in_order.remove_finalizers(self._key[0], names, FINALIZER)
        except BaseException:
            for uid in uids:
                self._memory.going.observed(self._key, uid)
            raise
        for uid, result in zip(uids, results, strict=True):
            if not isinstance(result, Exception):
                self.wrote_pod(result)
            elif not (isinstance(result, StatusError) and result.code == 404):
                self._memory.going.observed(self._key, uid)
                first = first or result
                continue
            # The cache may still show a pod that is gone, so its removal stays expected: it must not be
            # counted twice.
            gone.add(uid)
        return gone, first

    async def _create(self, bodies: Sequence[Obj]) -> tuple[PodResults, Exception | None]:
        expectations = self._memory.expectations
        expectations.expect_creations(self._key, len(bodies))
        attempted = created = 0
        first: Exception | None = None
        try:
            while attempted < len(bodies) and first is None:
                for made in await self._pods.create_all(bodies[attempted:], self._key[0], self._about):
                    attempted += 1
                    if not isinstance(made, Exception):
                        self.wrote_pod(made)
                    elif is_namespace_terminating(made):  # a second attempt would fail, too
                        self._memory.namespace_going.add(self._key)
                    else:
                        first = first or made
                        if unanswered_creates.may_have_happened(made):
                            self._memory.unanswered.add(self._key)
                        continue
                    created += 1
        finally:
            expectations.creations_observed(self._key, len(bodies) - created)
        return PodResults(created=created, attempted=attempted), first

    async def _release_all(self, pods: Sequence[Obj]) -> tuple[PodResults, Exception | None]:
        expectations = self._memory.expectations
        expectations.expect_deletions(self._key, len(pods))
        deleted: set[str] = set()
        try:
            return await self._remove(pods, functools.partial(self._release, deleted))
        finally:
            expectations.deletions_observed(self._key, len(pods) - len(deleted))

    async def _remove(
        self, pods: Sequence[Obj], remove: Callable[[Obj], Awaitable[None]]
    ) -> tuple[PodResults, Exception | None]:
        results = await side_by_side([*map(remove, pods)])
        gone, first = _sorted_out(results)
        removed = [pod for pod, went in zip(pods, gone, strict=True) if went]
        return PodResults(len(removed), sum(pod_state.is_ready(pod) for pod in removed)), first

    async def _delete(self, pod: Obj) -> None:
        with errors.tolerated(404):
            await self._pods.delete(self._key[0], pod["metadata"]["name"], self._about)

    async def _kill(self, pod: Obj) -> None:
        """Deletes a running pod of a Job that has succeeded; the pod is not counted. Pods of a failed Job are
        recorded as failed before they are deleted."""
        with errors.tolerated(404):
            await self._pods.kill(pod, self._about)

    async def _release(self, deleted: set[str], pod: Obj) -> None:
        """Removes the finalizer first, so that the deleted pod is never counted."""
        name = pod["metadata"]["name"]
        with errors.tolerated(404):
            if pod_facts.tracked(pod):
                self.wrote_pod(await self._pods.remove_finalizer(pod, FINALIZER))
            await self._pods.delete(self._key[0], name, self._about)
            deleted.add(name)


def _sorted_out(results: Sequence[object]) -> tuple[list[bool], Exception | None]:
    """Returns whether each succeeded, and the first error. Raises errors other than `FAILURES`."""
    first: Exception | None = None
    for result in results:
        if isinstance(result, BaseException):
            if not isinstance(result, FAILURES):
                raise result
            first = first or result
    return [not isinstance(result, BaseException) for result in results], first
