"""Carries out a plan. Each step is one write, after which the next sync can go on from the stored state."""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import replace

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.client import Client, DeleteOptions
from longshore.controllers.garbage import patches, references
from longshore.controllers.garbage.decide import Action, GarbagePlan, GarbageView, Live, decide
from longshore.controllers.garbage.graph import Graph, Node
from longshore.controllers.garbage.owners import is_gone, metadata

_MAX_WRITES: Final = 20
"""Dependents orphaned at the same time: as many as upstream has workers."""


class Actor:
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
                    await patches.drop_references(
                        self._client, row, node.name, node.namespace, node.uid, plan.references
                    )
                case Action.UNBLOCK:
                    await patches.unblock(self._client, row, view.meta)
                case Action.ORPHAN_DEPENDENTS:
                    await self._orphan(node)
                    await patches.remove_finalizer(self._client, row, view.meta, references.ORPHAN)
                case Action.REMOVE_FINALIZER:
                    await patches.remove_finalizer(self._client, row, view.meta, plan.finalizer)
        except StatusError as err:
            if not is_gone(err, node.name):
                raise
            self._graph.remove(node.uid)  # the news of it is on its way
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
            await patches.drop_references(
                self._client, node.resource, node.name, node.namespace, node.uid, (owner,)
            )
        except StatusError as err:
            if not is_gone(err, node.name):
                raise
