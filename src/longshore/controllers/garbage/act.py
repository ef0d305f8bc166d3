"""Carries out a plan. Each step is one write, after which the next sync can go on from the stored state.

Changes of metadata are strategic merge patches, which name only what changes, so that they cannot overwrite a
concurrent change. Kinds without such patches (415) are read, and written by a merge patch that applies to
that resourceVersion only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Final

from msgspec.structs import replace

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType
from longshore.controllers.garbage import references
from longshore.controllers.garbage.decide import Action, GarbagePlan, GarbageView, Live, decide
from longshore.controllers.garbage.graph import Graph, Node
from longshore.controllers.garbage.owners import is_gone, metadata

_MAX_WRITES: Final = 20
"""Dependents orphaned at the same time: as many as upstream has workers."""
_MAX_TRIES: Final = 5


class GarbageActor:
    """Carries out plans. Raises StatusError or Unreachable if the object must be synced again."""

    def __init__(self, client: Client, graph: Graph) -> None:
        self._client, self._graph = client, graph

    async def act(self, node: Node, view: GarbageView, plan: GarbagePlan) -> GarbagePlan:
        """Returns the plan that was carried out: a delete refused with a conflict is decided again."""
        row = node.resource
        assert row is not None, "plans are made for objects that were seen"
        try:
            match plan.action:
                case Action.DELETE:
                    return await self._delete(row, node, view, plan)
                case Action.DROP_REFERENCES:
                    await self._drop_references(row, node, plan.references)
                case Action.UNBLOCK:
                    await self._unblock(row, view.meta)
                case Action.ORPHAN_DEPENDENTS:
                    await self._orphan(node)
                    await self._remove_finalizer(row, view.meta, references.ORPHAN)
                case Action.REMOVE_FINALIZER:
                    await self._remove_finalizer(row, view.meta, plan.finalizer)
        except StatusError as err:
            if not is_gone(err, node.name):
                raise
            self._graph.remove(node.uid)  # its watch event has not arrived yet
        return plan

    async def _delete(self, row: Resource, node: Node, view: GarbageView, plan: GarbagePlan) -> GarbagePlan:
        """Deletes exactly the version that was decided on, unless the plan allows any. If the object has
        changed since, decides again."""
        version = None if plan.any_version else view.meta["resourceVersion"]
        options = DeleteOptions(propagation=plan.policy, uid=node.uid, resource_version=version)
        try:
            await self._client.delete(row, node.name, node.namespace, options)
            return plan
        except StatusError as err:
            if err.code != 409 or plan.any_version:
                raise
            conflict = err
        try:
            live = await metadata(self._client, row, node.name, node.namespace)
        except LookupError:
            raise conflict from None
        answered = replace(view, live=Live(live))
        again = decide(answered)
        match again.action:
            case Action.DELETE:
                return await self._delete(row, node, answered, again)
            case Action.START_OVER:
                raise conflict
            case Action.FORGET:
                self._graph.remove(node.uid)
        return again

    async def _orphan(self, owner: Node) -> None:
        """Removes the owner from the references of all dependents, including those that appear meanwhile."""
        done: set[str] = set()
        while todo := [node for uid, node in owner.dependents.items() if uid not in done]:
            for at in range(0, len(todo), _MAX_WRITES):
                released = (self._release(node, owner.uid) for node in todo[at : at + _MAX_WRITES])
                for outcome in await asyncio.gather(*released, return_exceptions=True):
                    if outcome is not None:
                        raise outcome
            done.update(node.uid for node in todo)

    async def _release(self, node: Node, owner: str) -> None:
        assert node.resource is not None
        try:
            await self._drop_references(node.resource, node, (owner,))
        except StatusError as err:
            if not is_gone(err, node.name):
                raise

    # ---- patches

    async def _drop_references(self, row: Resource, node: Node, owners: Collection[str]) -> None:
        """Removes owners from the object's references. Raises 404 if it is gone, 409 if it was replaced."""
        await self._change_references(
            row,
            {"name": node.name, "namespace": node.namespace, "uid": node.uid},
            [{"$patch": "delete", "uid": owner} for owner in owners],
            lambda refs: [ref for ref in refs if ref["uid"] not in owners],
        )

    async def _unblock(self, row: Resource, meta: Obj) -> None:
        """Sets blockOwnerDeletion to false in all references of the object."""
        refs = meta.get("ownerReferences") or ()
        await self._change_references(
            row,
            meta,
            [
                {"uid": ref["uid"], "blockOwnerDeletion": False}
                for ref in refs
                if ref.get("blockOwnerDeletion")
            ],
            lambda refs: [{**ref, "blockOwnerDeletion": False} for ref in refs],
        )

    async def _change_references(
        self, row: Resource, meta: Obj, strategic: list[Obj], change: Callable[[list[Obj]], list[Obj]]
    ) -> None:
        name, namespace, uid = meta["name"], meta.get("namespace") or "", meta["uid"]
        if row.style != "custom":
            body: Obj = {"metadata": {"uid": uid, "ownerReferences": strategic}}
            with errors.tolerated(415):
                await self._client.patch(row, name, body, namespace, type=PatchType.STRATEGIC)
                return
        now = (await self._client.get(row, name, namespace))["metadata"]
        if now["uid"] != uid:
            return
        old = now.get("ownerReferences") or []
        new = change(old)
        if new != old:
            body = {"metadata": {"resourceVersion": now["resourceVersion"], "ownerReferences": new}}
            await self._client.patch(row, name, body, namespace, type=PatchType.MERGE)

    async def _remove_finalizer(self, row: Resource, meta: Obj, finalizer: str) -> None:
        """Removes one finalizer from the object, if it still exists and has it."""
        name, namespace, uid = meta["name"], meta.get("namespace") or "", meta["uid"]
        with errors.tolerated(404):
            for left in reversed(range(_MAX_TRIES)):
                finalizers = meta.get("finalizers") or []
                if meta["uid"] != uid or finalizer not in finalizers:
                    return
                kept = [other for other in finalizers if other != finalizer]
                body = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": kept}}
                try:
                    await self._client.patch(row, name, body, namespace, type=PatchType.MERGE)
                    return
                except StatusError as err:
                    if err.code != 409 or not left:
                        raise
                meta = (await self._client.get(row, name, namespace))["metadata"]
