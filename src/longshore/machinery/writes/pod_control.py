"""Creates, deletes and patches pods for a controller, and records events about their owner.

Creations start slowly: one, then two, then four at a time. If a quota is used up, or the template is refused,
that costs a few refused requests and not thousands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType, Unreachable
from longshore.client.writes import Create, Patch, slow_start
from longshore.machinery.events.recorder import Recorder

_T = TypeVar("_T")

_MAX_NAME_CHARACTERS: Final = 253


class NoLabels(Exception):
    """unable to create pods, no labels"""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


def from_template(template: Obj, ref: Obj, *, generate_name: str, finalizers: Iterable[str] = ()) -> Obj:
    """A pod of this template with the controller `ref`. Shares the template's parts, which are all frozen."""
    meta = template.get("metadata") or {}
    pod: Obj = {"generateName": generate_name, "ownerReferences": [ref]}
    for part in ("labels", "annotations"):
        if meta.get(part):
            pod[part] = meta[part]
    if all_finalizers := [*dict.fromkeys((*(meta.get("finalizers") or ()), *finalizers))]:
        pod["finalizers"] = all_finalizers
    return {"metadata": pod, "spec": template["spec"]}


def name_prefix(owner: str) -> str:
    """`<owner>-`; without the hyphen if a pod's name would become too long with it."""
    return f"{owner}-" if len(owner) < _MAX_NAME_CHARACTERS else owner


class PodControl:
    """Creates and deletes pods. `owner` is the reference (`recorder.reference`) of the events' object."""

    def __init__(self, client: Client, recorder: Recorder) -> None:
        self._client, self._recorder = client, recorder

    async def create(self, pod: Obj, namespace: str, owner: Obj) -> Obj:
        """The pod as created. Raises `NoLabels`, or what the client raises; an event reports the error,
        unless the namespace is being deleted."""
        (made,) = await self.create_all([pod], namespace, owner)
        if isinstance(made, Exception):
            raise made
        return made

    async def create_all(self, pods: Sequence[Obj], namespace: str, owner: Obj) -> list[Obj | Exception]:
        """Creates pods, slowly at first. Returns each pod as created, or the exception that `create` would
        raise; pods not attempted after an error are missing from the list."""
        if not all(pod["metadata"].get("labels") for pod in pods):
            return [NoLabels()]
        results = await self._client.write([Create(kinds.PODS, pod, namespace) for pod in pods], slow_start())
        announce = self._recorder.announce
        for made in results:
            if not isinstance(made, Exception):
                announce(owner, "PodCreated", pod=made["metadata"]["name"])
            elif not is_namespace_terminating(made):
                announce(owner, "PodNotCreated", problem=made)
        return [*results]

    async def delete(self, namespace: str, name: str, owner: Obj) -> None:
        """Deletes a pod. Raises what the client raises; an event reports the error, except 404 and 409."""
        await self._told(self._client.delete(kinds.PODS, name, namespace), name, owner)

    async def kill(self, pod: Obj, owner: Obj) -> None:
        """Deletes a pod that has not ended. Raises a conflict if it has ended meanwhile, since it must be
        counted; other changes of the pod do not prevent the deletion. Events and errors as for `delete`."""
        await self._told(self._kill(pod), pod["metadata"]["name"], owner)

    async def _kill(self, pod: Obj) -> object:
        def delete(seen: Obj) -> Awaitable[object]:
            meta = seen["metadata"]
            options = DeleteOptions(uid=meta["uid"], resource_version=meta["resourceVersion"])
            return self._client.delete(kinds.PODS, meta["name"], meta["namespace"], options)

        return await self._while_running(pod, delete)

    async def _while_running(self, pod: Obj, write: Callable[[Obj], Awaitable[_T]]) -> _T:
        """Calls `write` with the pod; after a conflict again, with the newest state, until it succeeds or the
        pod has ended. Returns the answer."""
        while True:
            try:
                return await write(pod)
            except StatusError as err:
                if err.code != 409:
                    raise
                pod = await self._still_running(pod, err)

    async def _still_running(self, pod: Obj, conflict: StatusError) -> Obj:
        """The newest state of the pod. Raises the conflict if the pod has ended, is another one, or has not
        changed: then the conflict has another cause."""
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
                self._recorder.announce(owner, "PodNotDeleted", problem=err)
            raise
        self._recorder.announce(owner, "PodDeleted", pod=name)

    async def patch(self, namespace: str, name: str, patch: Obj) -> Obj:
        """The pod after a strategic merge patch."""
        return await self._client.patch(kinds.PODS, name, patch, namespace, type=PatchType.STRATEGIC)

    async def remove_finalizer(self, pod: Obj, finalizer: str) -> Obj:
        """Removes the finalizer of a pod that has not ended. Returns the pod, or its last state if it is
        deleted by that. Raises a conflict if the pod has ended meanwhile, since it must be counted."""

        def patch(seen: Obj) -> Awaitable[Obj]:
            meta, without = seen["metadata"], finalizer_patch(finalizer)
            without["metadata"]["resourceVersion"] = meta["resourceVersion"]
            return self.patch(meta["namespace"], meta["name"], without)

        return await self._while_running(pod, patch)

    async def remove_finalizers(
        self, namespace: str, names: Sequence[str], finalizer: str
    ) -> list[Obj | Exception]:
        """Removes the finalizer of several pods in parallel. Returns each pod, or its exception."""
        patch = finalizer_patch(finalizer)
        strategic = PatchType.STRATEGIC
        writes = [Patch(kinds.PODS, name, patch, namespace, strategic) for name in names]
        return [*await self._client.write(writes)]


def finalizer_patch(finalizer: str) -> Obj:
    """A patch that removes one finalizer and leaves the others as they are."""
    return {"metadata": {"$deleteFromPrimitiveList/finalizers": [finalizer]}}


def is_namespace_terminating(err: Exception) -> bool:
    """Whether the error says that the namespace is being deleted: not worth an event or a retry."""
    return isinstance(err, StatusError) and err.has_cause("NamespaceTerminating")


async def side_by_side(calls: Sequence[Awaitable[object]]) -> list[object]:
    """Runs calls in parallel; returns results, or exceptions in their places. One call needs no task."""
    if len(calls) != 1:
        return await asyncio.gather(*calls, return_exceptions=True)
    try:
        return [await calls[0]]
    except Exception as err:
        return [err]
