"""Gives every namespace a `default` service account and a ConfigMap with the CA certificate of the API."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence

from longshore.api.facts import kinds
from longshore.controllers import every_namespace
from longshore.controllers.serviceaccount.decide import (
    ACCOUNT,
    CA_CONFIG_MAP,
    ServiceAccountPlan,
    ServiceAccountView,
    decide,
)
from longshore.machinery.controller_context import ControllerContext

__all__ = ["run"]


async def run(context: ControllerContext, *, ca: str = "") -> None:
    """Creates and repairs accounts and ConfigMaps until cancelled. `ca` is the CA certificate in PEM; empty
    without a server."""
    client, informers = context.client, context.informers
    namespaces = informers.get(kinds.NAMESPACES)
    accounts = informers.get(kinds.SERVICE_ACCOUNTS, fields=f"metadata.name={ACCOUNT}")
    config_maps = informers.get(kinds.CONFIG_MAPS, fields=f"metadata.name={CA_CONFIG_MAP}")

    def decided() -> Sequence[ServiceAccountPlan]:
        view = ServiceAccountView(
            namespaces=[*namespaces.cache],
            accounts={obj["metadata"]["namespace"] for obj in accounts.cache},
            config_maps={obj["metadata"]["namespace"]: obj for obj in config_maps.cache},
            ca=ca,
        )
        return decide(view)

    def writes(plan: ServiceAccountPlan) -> Iterator[Awaitable[object]]:
        if plan.account is not None:
            yield client.create(kinds.SERVICE_ACCOUNTS, plan.account)
        if plan.config_map is not None:
            yield client.create(kinds.CONFIG_MAPS, plan.config_map)
        if plan.repair is not None:
            yield client.update(kinds.CONFIG_MAPS, plan.repair)

    await every_namespace.run(context, (namespaces, accounts, config_maps), decided, writes)
