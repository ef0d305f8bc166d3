"""Which service accounts and ConfigMaps are missing or wrong. A pure function of what is there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key

ACCOUNT = "default"
CA_CONFIG_MAP = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
    "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions "
    "of Kubernetes clusters."
)


@dataclass(frozen=True, slots=True)
class View:
    """The namespaces, and of the others those named `default` and `kube-root-ca.crt`."""

    namespaces: Iterable[Obj]
    accounts: Collection[Key]
    config_maps: Mapping[Key, Obj]
    ca: str


@dataclass(frozen=True, slots=True)
class Plan:
    accounts: tuple[Obj, ...] = ()
    """To create."""
    config_maps: tuple[Obj, ...] = ()
    """To create."""
    repairs: tuple[Obj, ...] = ()
    """ConfigMaps to write again."""


def decide(view: View) -> Plan:
    """What every namespace that is not going away should get."""
    accounts, config_maps, repairs = [], [], []
    data = {"ca.crt": view.ca}
    for namespace in view.namespaces:
        if "deletionTimestamp" in namespace["metadata"]:
            continue
        name = namespace["metadata"]["name"]
        if (name, ACCOUNT) not in view.accounts:
            accounts.append({"metadata": {"name": ACCOUNT, "namespace": name}})
        existing = view.config_maps.get((name, CA_CONFIG_MAP))
        if existing is None:
            annotations = {"kubernetes.io/description": _DESCRIPTION}
            meta = {"name": CA_CONFIG_MAP, "namespace": name, "annotations": annotations}
            config_maps.append({"metadata": meta, "data": data})
        elif existing.get("data") != data and "deletionTimestamp" not in existing["metadata"]:
            repairs.append({**existing, "data": data})
    return Plan(tuple(accounts), tuple(config_maps), tuple(repairs))
