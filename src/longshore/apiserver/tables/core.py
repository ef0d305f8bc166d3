"""Columns of namespaces, nodes, configuration, services and the quotas of the core group."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from longshore.api.types import Obj
from longshore.apiserver.tables.cells import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    NONE,
    Printer,
    age_of,
    column,
    containers_of,
    labels_text,
    name_of,
    wide,
)

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_UNKNOWN: Final = "<unknown>"
_SHOWN_ENDPOINTS: Final = 3


def _namespace(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("status", {}).get("phase", ""), age_of(obj, now)]


def _config_map(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age_of(obj, now)]


def _secret(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age_of(obj, now)]


def _service_account(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), age_of(obj, now)]


def _node(node: Obj, now: datetime) -> list[Any]:
    status = node.get("status", {})
    info = status.get("nodeInfo", {})
    addresses = status.get("addresses") or ()
    return [
        name_of(node),
        _node_status(node.get("spec", {}), status.get("conditions") or ()),
        ",".join(_roles(node["metadata"].get("labels") or {})) or NONE,
        age_of(node, now),
        info.get("kubeletVersion", ""),
        _address(addresses, "InternalIP"),
        _address(addresses, "ExternalIP"),
        info.get("osImage") or _UNKNOWN,
        info.get("kernelVersion") or _UNKNOWN,
        info.get("containerRuntimeVersion") or _UNKNOWN,
    ]


def _node_status(spec: Obj, conditions: Iterable[Obj]) -> str:
    ready = [c.get("status") == "True" for c in conditions if c.get("type") == "Ready"]
    word = ("Ready" if ready[-1] else "NotReady") if ready else "Unknown"
    return f"{word},SchedulingDisabled" if spec.get("unschedulable") else word


def _roles(labels: dict[str, str]) -> list[str]:
    found = {k.removeprefix(_ROLE_PREFIX) for k in labels if k.startswith(_ROLE_PREFIX)}
    found.add(labels.get("kubernetes.io/role", ""))
    return sorted(found - {""})


def _address(addresses: Iterable[Obj], type: str) -> str:
    return next((a.get("address", "") for a in addresses if a.get("type") == type), NONE)


def _service(obj: Obj, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    ips = spec.get("clusterIPs") or ()
    return [
        name_of(obj),
        spec.get("type", ""),
        ips[0] if ips else NONE,
        _external_ip(spec, obj.get("status", {})),
        ",".join(map(_port, spec.get("ports") or ())) or NONE,
        age_of(obj, now),
        labels_text(spec.get("selector")),
    ]


def _external_ip(spec: Obj, status: Obj) -> str:
    own = list(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(own) or NONE
        case "LoadBalancer":
            given = status.get("loadBalancer", {}).get("ingress") or ()
            found = {i.get("ip") or i.get("hostname") or "" for i in given} - {""}
            return ",".join([*sorted(found), *own]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return _UNKNOWN


def _port(port: Obj) -> str:
    number, node_port = port.get("port"), port.get("nodePort")
    shown = f"{number}:{node_port}" if node_port else f"{number}"
    return f"{shown}/{port.get('protocol', '')}"


def _endpoints(obj: Obj, now: datetime) -> list[Any]:
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        ips = [a.get("ip", "") for a in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if ports:
            found += (_host_port(ip, p.get("port")) for p in ports for ip in ips)
        else:
            found += ips
    text = ",".join(found[:_SHOWN_ENDPOINTS])
    more = len(found) - _SHOWN_ENDPOINTS
    if not obj.get("subsets"):
        text = NONE
    return [name_of(obj), f"{text} + {more} more..." if more > 0 else text, age_of(obj, now)]


def _host_port(ip: str, port: Any) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def _replication_controller(obj: Obj, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    names, images = containers_of((spec.get("template") or {}).get("spec", {}))
    return [
        name_of(obj),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age_of(obj, now),
        names,
        images,
        labels_text(spec.get("selector")),
    ]


def _resource_quota(obj: Obj, now: datetime) -> list[Any]:
    status = obj.get("status", {})
    used = status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name, hard in sorted((status.get("hard") or {}).items()):
        side = limits if name.startswith("limits.") else requests
        side.append(f"{name}: {used.get(name, '0')}/{hard}")
    return [name_of(obj), ", ".join(requests), ", ".join(limits), age_of(obj, now)]


PRINTERS: Final = {
    ("", "Namespace"): Printer((NAME, column("Status", "Whether the namespace is in use."), AGE), _namespace),
    ("", "ConfigMap"): Printer((NAME, column("Data", "Number of entries."), AGE), _config_map),
    ("", "Secret"): Printer(
        (NAME, column("Type", "What the secret is for."), column("Data", "Number of entries."), AGE), _secret
    ),
    ("", "ServiceAccount"): Printer((NAME, AGE), _service_account),
    ("", "Node"): Printer(
        (
            NAME,
            column("Status", "Whether the node is ready and takes pods."),
            column("Roles", "Roles given to the node by labels."),
            AGE,
            column("Version", "Version of the node's agent."),
            wide("Internal-IP", "Address inside the cluster."),
            wide("External-IP", "Address outside the cluster."),
            wide("OS-Image", "Operating system."),
            wide("Kernel-Version", "Version of the kernel."),
            wide("Container-Runtime", "What runs the containers."),
        ),
        _node,
    ),
    ("", "Service"): Printer(
        (
            NAME,
            column("Type", "How the service is reached."),
            column("Cluster-IP", "Address inside the cluster."),
            column("External-IP", "Address outside the cluster."),
            column("Port(s)", "Ports and protocols."),
            AGE,
            wide("Selector", "Labels of the pods behind the service."),
        ),
        _service,
    ),
    ("", "Endpoints"): Printer((NAME, column("Endpoints", "Addresses behind the service."), AGE), _endpoints),
    ("", "ReplicationController"): Printer(
        (
            NAME,
            column("Desired", "Pods wanted.", "integer"),
            column("Current", "Pods there are.", "integer"),
            column("Ready", "Pods that are ready.", "integer"),
            AGE,
            CONTAINERS,
            IMAGES,
            wide("Selector", "Labels by which the controller finds its pods."),
        ),
        _replication_controller,
    ),
    ("", "ResourceQuota"): Printer(
        (
            NAME,
            column("Request", "Requests and objects: in use, of allowed."),
            column("Limit", "Limits: in use, of allowed."),
            AGE,
        ),
        _resource_quota,
    ),
}
