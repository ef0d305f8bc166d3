"""Services: stored and given an address, but longshore routes no traffic to it.

The cluster address and the node ports are pure functions of the object's uid, so the same write gives
the same service; headless services (`clusterIP: None`) and ExternalName services get none.
"""

from __future__ import annotations

import zlib
from typing import Final

from longshore.api import errors
from longshore.api.defaults import fill
from longshore.api.defaults.service import CLUSTER_TYPES, default_service, externally_accessible
from longshore.api.strategy import Context, Strategy, keep_status
from longshore.api.types import Obj
from longshore.api.validation import service as validation

_FIRST_NODE_PORT: Final = 30000
_NODE_PORTS: Final = 2768
_NODE_PORT_TYPES: Final = frozenset(("NodePort", "LoadBalancer"))


def cluster_ip(uid: str) -> str:
    """A stable address in 10.96.0.0/16, never the first few, which belong to well-known services."""
    offset = 16 + zlib.crc32(uid.encode()) % (65535 - 16)
    return f"10.96.{offset >> 8}.{offset & 255}"


def _prepare_create(obj: Obj, ctx: Context) -> None:
    obj["status"] = {"loadBalancer": {}}
    spec = obj["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    _allocate(spec, obj["metadata"]["uid"])


def _prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    spec, before = new["spec"], old["spec"]
    _keep_allocated(spec, before)
    _follow_cluster_ip(spec, before)
    _drop_what_type_forbids(spec, before)
    _allocate(spec, old["metadata"]["uid"])


def _allocate(spec: Obj, uid: str) -> None:
    """Allocates what the service's type needs and the service lacks: families, address, ports."""
    if spec["type"] not in CLUSTER_TYPES:
        return
    headless = spec.get("clusterIPs") == ["None"]
    # The owner of a headless service without selector writes its endpoints, perhaps of both families.
    both = headless and not spec.get("selector")
    fill(spec, ipFamilies=["IPv4", "IPv6"] if both else ["IPv4"])
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = "RequireDualStack" if both else "SingleStack"
    if not spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIP"] = cluster_ip(uid)
        spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["type"] == "NodePort" or (
        spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
    ):
        _allocate_node_ports(spec, uid)


def _allocate_node_ports(spec: Obj, uid: str) -> None:
    ports = spec.get("ports") or ()
    taken = {port["nodePort"] for port in ports if port.get("nodePort")}
    if spec.get("externalTrafficPolicy") == "Local" and spec["type"] == "LoadBalancer":
        if not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = _free_port(f"{uid}/health", taken)
        taken.add(spec["healthCheckNodePort"])
    for i, port in enumerate(ports):
        if not port.get("nodePort"):
            port["nodePort"] = _free_port(f"{uid}/{i}", taken)
            taken.add(port["nodePort"])


def _free_port(seed: str, taken: set[int]) -> int:
    first = zlib.crc32(seed.encode())
    for offset in range(first, first + _NODE_PORTS):
        if (port := _FIRST_NODE_PORT + offset % _NODE_PORTS) not in taken:
            return port
    raise errors.internal("failed to allocate a nodePort: range is full")


def _keep_allocated(spec: Obj, before: Obj) -> None:
    """Fills in allocated fields that the client left out, so that a plain PUT changes nothing."""
    if spec["type"] in CLUSTER_TYPES and before["type"] in CLUSTER_TYPES:
        if not spec.get("clusterIP") and "clusterIP" in before:
            spec["clusterIP"] = before["clusterIP"]
        same = spec.get("clusterIP") == before.get("clusterIP")
        if not spec.get("clusterIPs") and same and "clusterIPs" in before:
            spec["clusterIPs"] = before["clusterIPs"]
        if not spec.get("ipFamilies") and "ipFamilies" in before:
            spec["ipFamilies"] = before["ipFamilies"]
        if spec.get("ipFamilyPolicy") is None and "ipFamilyPolicy" in before:
            spec["ipFamilyPolicy"] = before["ipFamilyPolicy"]
    if spec["type"] in _NODE_PORT_TYPES and before["type"] in _NODE_PORT_TYPES:
        taken = {port.get("nodePort") for port in spec.get("ports") or ()}
        given = {(p["protocol"], p["port"]): p.get("nodePort") for p in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            known = given.get((port["protocol"], port.get("port")))
            if not port.get("nodePort") and known and known not in taken:
                port["nodePort"] = known
    if not spec.get("healthCheckNodePort") and _checks_health(spec) and _checks_health(before):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]


def _checks_health(spec: Obj) -> bool:
    return bool(spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def _follow_cluster_ip(spec: Obj, before: Obj) -> None:
    """If a client changed only one of clusterIP and clusterIPs, changes the other as well."""
    address = spec.get("clusterIP", "")
    if address != before.get("clusterIP", "") and spec.get("clusterIPs") == before.get("clusterIPs"):
        spec.pop("clusterIPs", None)
        if address:
            spec["clusterIPs"] = [address]


def _drop_what_type_forbids(spec: Obj, before: Obj) -> None:
    """If the type changed, removes fields that the new type does not have, unless this write changed them."""

    def drop(*keys: str) -> None:
        for key in keys:
            if key in spec and spec[key] == before.get(key):
                del spec[key]

    if spec["type"] not in CLUSTER_TYPES and before["type"] in CLUSTER_TYPES:
        drop("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    if spec["type"] not in _NODE_PORT_TYPES and before["type"] in _NODE_PORT_TYPES:
        old_ports = {port.get("nodePort") for port in before.get("ports") or ()}
        ports = spec.get("ports") or ()
        if all(port.get("nodePort") in old_ports for port in ports):
            for port in ports:
                port.pop("nodePort", None)
    if not _checks_health(spec) and _checks_health(before):
        drop("healthCheckNodePort")
    if spec["type"] != "ExternalName" and before["type"] == "ExternalName":
        drop("externalName")
    if spec["type"] != "LoadBalancer" and before["type"] == "LoadBalancer":
        drop("allocateLoadBalancerNodePorts", "loadBalancerClass")
    if not externally_accessible(spec):
        drop("externalTrafficPolicy")


STRATEGY: Final = Strategy(
    name_rule="label",
    counts_generation=False,
    create_on_update=True,
    delete_answers_object=True,
    default=default_service,
    prepare_create=_prepare_create,
    validate_create=validation.validate,
    prepare_update=_prepare_update,
    validate_update=validation.validate_update,
    validate_status=validation.validate_status,
)
