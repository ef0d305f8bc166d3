"""The rights controller: looks at all namespaces whenever one of them, or a binding, changed."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.client import Client, DeleteOptions
from longshore.controllers import every_namespace
from longshore.controllers.rights.decide import NAME, ROLE, Plan, View, decide
from longshore.machinery.controller_context import ControllerContext


async def run(context: ControllerContext) -> None:
    """Keeps the bindings in place until cancelled."""
    client, informers = context.client, context.informers
    namespaces = informers.get(kinds.NAMESPACES)
    bindings = informers.get(kinds.ROLE_BINDINGS, fields=f"metadata.name={NAME}")
    await _make_role(client)

    def decided() -> Sequence[Plan]:
        there = {binding["metadata"]["namespace"]: binding for binding in bindings.cache}
        return decide(View([*namespaces.cache], there))

    def writes(plan: Plan) -> Iterator[Awaitable[object]]:
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
