"""The downward API: what a pod may know of itself, as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING
from typing import Final

from longshore.api import field, quantity
from longshore.api.types import Obj
from longshore.node.preparing.types import NodeFacts

_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")
_DEFAULTED: Final = ("cpu", "memory", "ephemeral-storage")
"""Resources whose limit is the node's amount if a container has none."""


class NoSuchField(Exception):
    """A field or resource the downward API does not offer; the message is the kubelet's."""


def field_value(pod: Obj, path: str, node: NodeFacts, pod_ip: str = "") -> str:
    """The value of `fieldRef.fieldPath`. Missing labels and annotations are empty."""
    meta, spec = pod["metadata"], pod["spec"]
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            value: str = meta.get(path[9:]) or ""
            return value
        case "metadata.labels" | "metadata.annotations":
            return lines(meta.get(path[9:]) or {})
        case "spec.nodeName" | "spec.host":
            return spec.get("nodeName") or node.name
        case "spec.serviceAccountName":
            return spec.get("serviceAccountName") or "default"
        case "status.podIP" | "status.podIPs":
            return pod_ip
        case "status.hostIP" | "status.hostIPs":
            return node.host_ip
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript is None:
        raise NoSuchField(f"unsupported fieldPath: {path}")
    value = (meta.get(subscript[1]) or {}).get(subscript[2]) or ""
    return value


def lines(values: Mapping[str, str]) -> str:
    """Labels or annotations as a file has them: `key="value"`, sorted, one a line."""
    return "\n".join(f"{key}={field.quoted(values[key])}" for key in sorted(values))


def resource_value(ref: Obj, pod: Obj, container: Obj | None, node: NodeFacts) -> str:
    """The value of `resourceFieldRef`: a whole number of divisors, rounded up."""
    if name := ref.get("containerName"):
        container = _container(pod, name)
    if container is None:
        raise NoSuchField(f"container {ref.get('containerName')} not found")
    which, _, resource = ref["resource"].partition(".")
    if which not in ("limits", "requests"):
        raise NoSuchField(f"unsupported container resource : {ref['resource']}")
    amount = ((container.get("resources") or {}).get(which) or {}).get(resource, "0")
    if which == "limits" and resource in _DEFAULTED and quantity.is_zero(amount):
        of_pod = ((pod["spec"].get("resources") or {}).get("limits") or {}).get(resource)
        amount = of_pod or node.allocatable.get(resource, "0")
    divisor = ref.get("divisor") or "0"
    return str(_divided(amount, "1" if quantity.is_zero(divisor) else divisor))


def _divided(amount: str, divisor: str) -> int:
    whole, part = quantity.parse(amount).amount, quantity.parse(divisor).amount
    return int((whole / part).to_integral_value(rounding=ROUND_CEILING))


def _container(pod: Obj, name: str) -> Obj | None:
    spec = pod["spec"]
    for part in ("containers", "initContainers"):
        for container in spec.get(part) or ():
            if container["name"] == name:
                found: Obj = container
                return found
    return None
