"""Gives every namespace a `default` service account and a ConfigMap with the CA certificate of the API.

All namespaces are synced whenever one of the objects changes. `decide` is pure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence

import msgspec

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.controllers import every_namespace
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.reasons import Reason

ACCOUNT = "default"
CA_CONFIG_MAP = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
    "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions "
    "of Kubernetes clusters."
)


class ServiceAccountView(msgspec.Struct, frozen=True):
    """The namespaces, and which of them have the account and the ConfigMap."""

    namespaces: Sequence[Obj]
    accounts: Collection[str]
    """Namespaces that have an account named `default`."""
    config_maps: Mapping[str, Obj]
    """The ConfigMaps named `kube-root-ca.crt`, by namespace."""
    ca: str


class ServiceAccountPlan(msgspec.Struct, frozen=True):
    """The plan for one namespace."""

    namespace: Obj
    account: Obj | None = None
    """The service account to create."""
    config_map: Obj | None = None
    """The ConfigMap to create."""
    repair: Obj | None = None
    """The ConfigMap to update, since its data is wrong."""
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Always None: every change arrives as a watch event."""


def decide(view: ServiceAccountView) -> list[ServiceAccountPlan]:
    """Returns a plan for every namespace that lacks an object and is not being deleted."""
    plans = []
    for namespace in view.namespaces:
        if "deletionTimestamp" not in namespace["metadata"]:
            plan = _plan(namespace, view)
            if plan.why:
                plans.append(plan)
    return plans


def _plan(namespace: Obj, view: ServiceAccountView) -> ServiceAccountPlan:
    name, data = namespace["metadata"]["name"], {"ca.crt": view.ca}
    account = config_map = repair = None
    why = []
    if name not in view.accounts:
        account = {"metadata": {"name": ACCOUNT, "namespace": name}}
        why.append(Reason("AccountCreated", {"name": ACCOUNT}))
    existing = view.config_maps.get(name)
    if existing is None:
        annotations = {"kubernetes.io/description": _DESCRIPTION}
        meta = {"name": CA_CONFIG_MAP, "namespace": name, "annotations": annotations}
        config_map = {"metadata": meta, "data": data}
        why.append(Reason("AuthorityCreated", {"name": CA_CONFIG_MAP}))
    elif existing.get("data") != data and "deletionTimestamp" not in existing["metadata"]:
        repair = {**existing, "data": data}
        why.append(Reason("AuthorityRepaired", {"name": CA_CONFIG_MAP}))
    return ServiceAccountPlan(namespace, account, config_map, repair, tuple(why))


async def run(context: ControllerContext, *, ca: str = "") -> None:
    """Creates and repairs accounts and ConfigMaps until cancelled. `ca` is the CA in PEM, or empty."""
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
