"""Makes, deletes and patches pods for a controller, and tells their owner of it in events.

Creations start slowly: one, then two, then four at a time. A quota that is used up, or a template that
every pod is refused for, then costs a few refused requests and not thousands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType, Unreachable
from longshore.machinery.events.recorder import Recorder

_T = TypeVar("_T")

_MAX_NAME_CHARACTERS: Final = 253


class NoLabels(Exception):
    """unable to create pods, no labels"""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


def from_template(template: Obj, ref: Obj, *, generate_name: str, finalizers: Iterable[str] = ()) -> Obj:
    """A pod of this template under the controller `ref`. Shares the template's parts: frozen, all of it."""
    meta = template.get("metadata") or {}
    pod: Obj = {"generateName": generate_name, "ownerReferences": [ref]}
    for part in ("labels", "annotations"):
        if meta.get(part):
            pod[part] = meta[part]
    if all_finalizers := [*dict.fromkeys((*(meta.get("finalizers") or ()), *finalizers))]:
        pod["finalizers"] = all_finalizers
    return {"metadata": pod, "spec": template["spec"]}


def name_prefix(owner: str) -> str:
    """`<owner>-`; without the hyphen where a pod's name would become too long for it."""
    return f"{owner}-" if len(owner) < _MAX_NAME_CHARACTERS else owner


class PodControl:
    """`owner` is always the reference (`recorder.reference`) of the object that events are about."""

    def __init__(self, client: Client, recorder: Recorder) -> None:
        self._client, self._recorder = client, recorder

    async def create(self, pod: Obj, namespace: str, owner: Obj) -> Obj:
        """The pod as created. Raises `NoLabels`, or what the client raises; an error is told in an event,
        unless it is that the namespace is being deleted."""
        (made,) = await self.create_all([pod], namespace, owner)
        if isinstance(made, Exception):
            raise made
        return made

    async def create_all(self, pods: Sequence[Obj], namespace: str, owner: Obj) -> list[Obj | Exception]:
        """Creates pods, slowly at first. Each as created, or in its place what `create` would have raised;
        those that were not attempted after an error are missing."""
        if not all(pod["metadata"].get("labels") for pod in pods):
            return [NoLabels()]
        results = await self._client.create_together(kinds.PODS, pods, namespace, slowly=True)
        tell = self._recorder.event
        for made in results:
            if not isinstance(made, Exception):
                tell(owner, "Normal", "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
            elif not is_namespace_terminating(made):
                tell(owner, "Warning", "FailedCreate", f"Error creating: {made}")
        return [*results]

    async def delete(self, namespace: str, name: str, owner: Obj) -> None:
        """Raises what the client raises; all but a 404 or 409 is told in an event."""
        await self._told(self._client.delete(kinds.PODS, name, namespace), name, owner)

    async def kill(self, pod: Obj, owner: Obj) -> None:
        """Deletes a pod that has not ended. A conflict if it has by now, which somebody has to count; any
        other change of it is no reason to let it be. Else as `delete`."""
        await self._told(self._kill(pod), pod["metadata"]["name"], owner)

    async def _kill(self, pod: Obj) -> object:
        def delete(seen: Obj) -> Awaitable[object]:
            meta = seen["metadata"]
            options = DeleteOptions(uid=meta["uid"], resource_version=meta["resourceVersion"])
            return self._client.delete(kinds.PODS, meta["name"], meta["namespace"], options)

        return await self._while_running(pod, delete)

    async def _while_running(self, pod: Obj, write: Callable[[Obj], Awaitable[_T]]) -> _T:
        """Has `write` write over the pod as it was seen and, after each conflict, as it is by then, while it
        has not ended. Returns its answer."""
        while True:
            try:
                return await write(pod)
            except StatusError as err:
                if err.code != 409:
                    raise
                pod = await self._still_running(pod, err)

    async def _still_running(self, pod: Obj, conflict: StatusError) -> Obj:
        """The pod as it is now. Raises the conflict if it has ended, is another one, or has not changed: then
        the conflict is about something else."""
        meta = pod["metadata"]
        now = await self._client.get(kinds.PODS, meta["name"], meta["namespace"])
        is_same = now["metadata"]["resourceVersion"] == meta["resourceVersion"]
        if is_same or pod_state.has_ended(now) or now["metadata"]["uid"] != meta["uid"]:
            raise conflict
        return now

    async def _told(self, deleting: Awaitable[object], name: str, owner: Obj) -> None:
        try:
            await deleting
        except (StatusError, Unreachable) as err:
            if not (isinstance(err, StatusError) and err.code in (404, 409)):
                self._recorder.event(owner, "Warning", "FailedDelete", f"Error deleting: {err}")
            raise
        self._recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")

    async def patch(self, namespace: str, name: str, patch: Obj) -> Obj:
        """The pod after a strategic merge patch."""
        return await self._client.patch(kinds.PODS, name, patch, namespace, type=PatchType.STRATEGIC)

    async def remove_finalizer(self, pod: Obj, finalizer: str) -> Obj:
        """The pod without it, or its last state if that was all that kept it. A conflict if the pod has ended
        by now, which somebody has to count; any other change of it is no reason to let it be.
        """

        def patch(seen: Obj) -> Awaitable[Obj]:
            meta, without = seen["metadata"], finalizer_patch(finalizer)
            without["metadata"]["resourceVersion"] = meta["resourceVersion"]
            return self.patch(meta["namespace"], meta["name"], without)

        return await self._while_running(pod, patch)

    async def remove_finalizers(
        self, namespace: str, names: Sequence[str], finalizer: str
    ) -> list[Obj | Exception]:
        """Of several pods, side by side. As `remove_finalizer`, or in its place what that would raise."""
        patch = finalizer_patch(finalizer)
        return [
            *await self._client.patch_together(kinds.PODS, names, patch, namespace, type=PatchType.STRATEGIC)
        ]


def finalizer_patch(finalizer: str) -> Obj:
    """Takes one finalizer away and leaves those of others alone, whatever they are by now."""
    return {"metadata": {"$deleteFromPrimitiveList/finalizers": [finalizer]}}


def is_namespace_terminating(err: Exception) -> bool:
    """Whether nothing can be created because the namespace is going: not worth an event or a retry."""
    return isinstance(err, StatusError) and err.has_cause("NamespaceTerminating")


async def side_by_side(calls: Sequence[Awaitable[object]]) -> list[object]:
    """The results, or in their places the exceptions, of calls made at once. One alone needs no task."""
    if len(calls) != 1:
        return await asyncio.gather(*calls, return_exceptions=True)
    try:
        return [await calls[0]]
    except Exception as err:
        return [err]


class Started(msgspec.Struct, frozen=True):
    """How far a slow start came. All that was attempted either succeeded or failed."""

    attempted: int
    succeeded: int
    error: Exception | None = None
    """The first one; after it no other batch was begun."""


async def slow_start(count: int, do: Callable[[int], Awaitable[object]], *, first: int = 1) -> Started:
    """Awaits `do(0)` to `do(count - 1)` in batches of 1, 2, 4, …, each batch side by side."""
    attempted = succeeded = 0
    size = first
    while attempted < count:
        size = min(size, count - attempted)
        results = await side_by_side([do(number) for number in range(attempted, attempted + size)])
        attempted += size
        errors = [result for result in results if isinstance(result, BaseException)]
        succeeded += size - len(errors)
        for error in errors:
            if isinstance(error, Exception):
                return Started(attempted, succeeded, error)
            raise error
        size *= 2
    return Started(attempted, succeeded)
