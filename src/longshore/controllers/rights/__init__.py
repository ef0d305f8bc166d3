"""Grants the service accounts of every namespace the rights that batch work needs, by RBAC objects."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.client import Client, DeleteOptions
from longshore.controllers import every_namespace
from longshore.controllers.rights.decide import NAME, ROLE, RightsPlan, RightsView, decide
from longshore.machinery.controller_context import ControllerContext

__all__ = ["run"]


async def run(context: ControllerContext) -> None:
    """Creates and deletes bindings until cancelled."""
    client, informers = context.client, context.informers
    namespaces = informers.get(kinds.NAMESPACES)
    bindings = informers.get(kinds.ROLE_BINDINGS, fields=f"metadata.name={NAME}")
    await _make_role(client)

    def decided() -> Sequence[RightsPlan]:
        there = {binding["metadata"]["namespace"]: binding for binding in bindings.cache}
        return decide(RightsView([*namespaces.cache], there))

    def writes(plan: RightsPlan) -> Iterator[Awaitable[object]]:
        if plan.create is not None:
            yield client.create(kinds.ROLE_BINDINGS, plan.create)
        if plan.delete is not None:
            meta = plan.delete["metadata"]
            yield client.delete(kinds.ROLE_BINDINGS, NAME, meta["namespace"], DeleteOptions(uid=meta["uid"]))

    await every_namespace.run(context, (namespaces, bindings), decided, writes)


async def _make_role(client: Client) -> None:
    try:
        await client.get(kinds.CLUSTER_ROLES, NAME)
    except StatusError as err:
        if err.code != 404:
            raise
        await client.create(kinds.CLUSTER_ROLES, ROLE)
