"""Finds missing service accounts, and missing or wrong ConfigMaps. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from longshore.api.types import Obj
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
