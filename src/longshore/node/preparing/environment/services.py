"""Variables that tell a pod where Services are: `NAME_SERVICE_HOST` and `_PORT`, and Docker's old links.

A Service without an address of its own (headless, ExternalName) has none.
"""

from __future__ import annotations

from collections.abc import Iterable

from longshore.api.types import Obj
from longshore.node.preparing.types import Server


def of_server(server: Server) -> dict[str, str]:
    """The variables of `default/kubernetes`, by which clients in a pod find the API server."""
    port = {"name": "https", "port": server.port, "protocol": "TCP"}
    service = {"metadata": {"name": "kubernetes"}, "spec": {"clusterIP": server.host, "ports": [port]}}
    return of_services([service])


def of_services(services: Iterable[Obj]) -> dict[str, str]:
    """The variables of each Service that has an address."""
    result: dict[str, str] = {}
    for service in services:
        spec = service.get("spec") or {}
        address, ports = spec.get("clusterIP"), spec.get("ports") or ()
        if not address or address == "None" or spec.get("type") == "ExternalName" or not ports:
            continue
        name = _variable(service["metadata"]["name"])
        result[f"{name}_SERVICE_HOST"] = address
        result[f"{name}_SERVICE_PORT"] = str(ports[0]["port"])
        for port in ports:
            if port.get("name"):
                result[f"{name}_SERVICE_PORT_{_variable(port['name'])}"] = str(port["port"])
        _links(result, name, address, ports)
    return result


def _links(result: dict[str, str], name: str, address: str, ports: Iterable[Obj]) -> None:
    host = f"[{address}]" if ":" in address else address
    for position, port in enumerate(ports):
        protocol = port.get("protocol") or "TCP"
        number, url = port["port"], f"{protocol.lower()}://{host}:{port['port']}"
        if position == 0:
            result[f"{name}_PORT"] = url
        prefix = f"{name}_PORT_{number}_{protocol.upper()}"
        result[prefix] = url
        result[f"{prefix}_PROTO"] = protocol.lower()
        result[f"{prefix}_PORT"] = str(number)
        result[f"{prefix}_ADDR"] = address


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")
