"""Defaults of a Service: type, affinity, protocols, target ports, traffic policies."""

from __future__ import annotations

from typing import Final

from longshore.api.defaults import fill
from longshore.api.types import Obj

CLUSTER_TYPES: Final = frozenset(("ClusterIP", "NodePort", "LoadBalancer"))
"""Types that have an address inside the cluster: all but ExternalName."""
_AFFINITY_SECONDS: Final = 10800


def externally_accessible(spec: Obj) -> bool:
    """Whether traffic from outside can reach the service."""
    return spec["type"] in ("NodePort", "LoadBalancer") or (
        spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def default_service(service: Obj) -> None:
    spec = service.get("spec")
    if spec is None:
        spec = service["spec"] = {}
    fill(spec, sessionAffinity="None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
    fill(spec, type="ClusterIP")
    for port in spec.get("ports") or ():
        fill(port, protocol="TCP", targetPort=port.get("port", 0))
    if externally_accessible(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec["type"] in CLUSTER_TYPES and spec.get("internalTrafficPolicy") is None:
        spec["internalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        _default_ip_modes(service)


def _default_ip_modes(service: Obj) -> None:
    """Fills in `ipMode`. Replaces the status instead of changing it, since it may be the stored one."""
    status = service.get("status") or {}
    balancer = status.get("loadBalancer") or {}
    ingresses = balancer.get("ingress") or ()
    if any(i.get("ip") and "ipMode" not in i for i in ingresses):
        filled = [{"ipMode": "VIP", **i} if i.get("ip") else i for i in ingresses]
        service["status"] = {**status, "loadBalancer": {**balancer, "ingress": filled}}
