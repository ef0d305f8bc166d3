"""Which service accounts and ConfigMaps are missing or wrong. A pure function of what is there."""

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


class View(msgspec.Struct, frozen=True):
    """The namespaces, and in which of them the account and the ConfigMap are."""

    namespaces: Sequence[Obj]
    accounts: Collection[str]
    """Namespaces that have an account named `default`."""
    config_maps: Mapping[str, Obj]
    """The ConfigMaps named `kube-root-ca.crt`, by namespace."""
    ca: str


class Plan(msgspec.Struct, frozen=True):
    """The plan for one namespace."""

    namespace: Obj
    account: Obj | None = None
    """To create."""
    config_map: Obj | None = None
    """To create."""
    repair: Obj | None = None
    """A ConfigMap to write again."""
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Never set: every change comes as an event."""


def decide(view: View) -> list[Plan]:
    """One plan for every namespace that lacks something and is not going away."""
    plans = []
    for namespace in view.namespaces:
        if "deletionTimestamp" not in namespace["metadata"]:
            plan = _plan(namespace, view)
            if plan.why:
                plans.append(plan)
    return plans


def _plan(namespace: Obj, view: View) -> Plan:
    name, data = namespace["metadata"]["name"], {"ca.crt": view.ca}
    account = config_map = repair = None
    why = []
    if name not in view.accounts:
        account = {"metadata": {"name": ACCOUNT, "namespace": name}}
        why.append(Reason("AccountCreated", f"creates the service account {ACCOUNT}, which is not there"))
    existing = view.config_maps.get(name)
    if existing is None:
        annotations = {"kubernetes.io/description": _DESCRIPTION}
        meta = {"name": CA_CONFIG_MAP, "namespace": name, "annotations": annotations}
        config_map = {"metadata": meta, "data": data}
        why.append(Reason("AuthorityCreated", f"creates the ConfigMap {CA_CONFIG_MAP}, which is not there"))
    elif existing.get("data") != data and "deletionTimestamp" not in existing["metadata"]:
        repair = {**existing, "data": data}
        words = f"writes the ConfigMap {CA_CONFIG_MAP} again, which holds something else"
        why.append(Reason("AuthorityRepaired", words))
    return Plan(namespace, account, config_map, repair, tuple(why))
