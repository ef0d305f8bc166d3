"""The usage of an object in a ResourceQuota, and the quotas that count it.

Every object counts as `count/<resource>`; some kinds also under an older plain name, pods and claims
with the resources they ask for. A finished pod counts only as an object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from longshore.api import pod_resources, quantity
from longshore.api.facts import pod_state
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.selectors import labels
from longshore.api.types import Obj

Usage = dict[str, str]

_PLAIN_NAMES: Final = frozenset(("secrets", "configmaps", "resourcequotas", "replicationcontrollers"))
"""Core kinds that can be limited by their plain name, too."""
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES: Final = frozenset(
    (*_COMPUTE, *(f"requests.{n}" for n in _COMPUTE), *(f"limits.{n}" for n in _COMPUTE), "pods")
)
_STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"


def governs(resource: Resource, name: str) -> bool:
    """Whether objects of this resource can count for the limit called `name`."""
    if name == f"count/{resource.qualified}":
        return True
    match resource.storage:
        case "pods":
            huge = (pod_resources.HUGE_PAGES, f"requests.{pod_resources.HUGE_PAGES}")
            extended = name.startswith("requests.") and not pod_resources.is_native(name)
            return name in _POD_NAMES or name.startswith(huge) or (extended and _STORAGE_CLASS not in name)
        case "persistentvolumeclaims":
            return name in ("persistentvolumeclaims", "requests.storage") or _STORAGE_CLASS in name
        case "services":
            return name in ("services", "services.nodeports", "services.loadbalancers")
    return resource.storage in _PLAIN_NAMES and name == resource.storage


def custom_storage(name: str) -> str | None:
    """The storage of the custom resource that the limit called `name` counts; None for any other limit."""
    head, _, qualified = name.partition("/")
    if head != "count" or qualified in _built_in():
        return None
    plural, dot, group = qualified.partition(".")
    return f"{group}/{plural}" if dot else None


@cache
def _built_in() -> frozenset[str]:
    return frozenset(row.qualified for row in table.RESOURCES)


def usage(resource: Resource, obj: Obj) -> Usage:
    """The usage of one object."""
    used: Usage = {f"count/{resource.qualified}": "1"}
    extra = _MEASURES.get(resource.storage)
    if extra is not None:
        extra(obj, used)
    elif resource.storage in _PLAIN_NAMES:
        used[resource.storage] = "1"
    return used


def _pod(pod: Obj, used: Usage) -> None:
    if pod_state.has_ended(pod):
        return
    spec = pod["spec"]
    used["pods"] = "1"
    used.update(compute(pod_resources.pod_requests(spec), pod_resources.pod_limits(spec)))


def compute(requests: Mapping[str, str], limits: Mapping[str, str]) -> Usage:
    """Requests and limits under the names that quotas use."""
    used: Usage = {}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith(pod_resources.HUGE_PAGES):
            used[name] = used[f"requests.{name}"] = amount
        elif pod_resources.is_extended(name):
            used[f"requests.{name}"] = amount
    for name in _COMPUTE:
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    return used


def _claim(claim: Obj, used: Usage) -> None:
    spec = claim["spec"]
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    used["persistentvolumeclaims"] = "1"
    class_ = annotations.get("volume.beta.kubernetes.io/storage-class") or spec.get("storageClassName")
    if class_:
        used[f"{class_}{_STORAGE_CLASS}persistentvolumeclaims"] = "1"
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is not None:
        used["requests.storage"] = size
        if class_:
            used[f"{class_}{_STORAGE_CLASS}requests.storage"] = size


def _service(service: Obj, used: Usage) -> None:
    spec = service["spec"]
    ports = spec.get("ports") or ()
    node_ports = 0
    if spec["type"] == "NodePort":
        node_ports = len(ports)
    elif spec["type"] == "LoadBalancer":
        if spec.get("allocateLoadBalancerNodePorts") is False:
            node_ports = sum(1 for port in ports if port.get("nodePort"))
        else:
            node_ports = len(ports)
    used["services"] = "1"
    used["services.nodeports"] = str(node_ports)
    used["services.loadbalancers"] = "1" if spec["type"] == "LoadBalancer" else "0"


_MEASURES: Final[Mapping[str, Callable[[Obj, Usage], None]]] = {
    "pods": _pod,
    "persistentvolumeclaims": _claim,
    "services": _service,
}


def has_scopes(quota: Obj) -> bool:
    """Whether a quota has scopes, so that it counts only some objects of its kinds."""
    return bool(_terms(quota))


def _terms(quota: Obj) -> list[Obj]:
    spec = quota["spec"]
    terms = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return terms + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def in_scope(quota: Obj, resource: Resource, obj: Obj) -> bool:
    """Whether the object is in all scopes of a quota. One scope selects claims, all others select pods."""
    terms = _terms(quota)
    if not terms:
        return True
    if resource.storage == "pods":
        return all(_pod_in_scope(term, obj) for term in terms)
    if resource.storage == "persistentvolumeclaims":
        return all(_claim_in_scope(term, obj) for term in terms)
    return False


def _pod_in_scope(term: Obj, pod: Obj) -> bool:
    spec = pod["spec"]
    match term["scopeName"]:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return pod_resources.qos_class(spec) == "BestEffort"
        case "NotBestEffort":
            return pod_resources.qos_class(spec) != "BestEffort"
        case "PriorityClass":
            return _selects(term, "PriorityClass", spec.get("priorityClassName"))
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(spec.get("affinity") or {})
    return False


def _claim_in_scope(term: Obj, claim: Obj) -> bool:
    if term["scopeName"] != "VolumeAttributesClass":
        return False
    return _selects(term, "VolumeAttributesClass", claim["spec"].get("volumeAttributesClassName"))


def _selects(term: Obj, scope: str, value: str | None) -> bool:
    expression = {"key": scope, "operator": term["operator"], "values": term.get("values")}
    selector = labels.from_selector({"matchExpressions": [expression]})
    return selector.matches({scope: value} if value else {})


def _crosses_namespaces(affinity: Obj) -> bool:
    for side in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(side) or {}
        terms = list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [each.get("podAffinityTerm") or {} for each in preferred]
        if any(t.get("namespaces") or t.get("namespaceSelector") is not None for t in terms):
            return True
    return False


def add(total: Usage, more: Mapping[str, str]) -> None:
    """Adds the amounts of the names that `total` has; ignores other names."""
    for name, amount in more.items():
        if name in total:
            total[name] = quantity.add(total[name], amount)
