"""A container's variables: envFrom, then env in order, then those of Services that nothing overrides.

Each value may refer to variables before it and to those of Services. Raises CannotPrepare in the kubelet's
words when something needed is missing; the container then waits as CreateContainerConfigError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from longshore.api.types import Obj
from longshore.node.preparing.environment import downward
from longshore.node.preparing.environment.expansion import Room, TooLong, expand, from_maps
from longshore.node.preparing.environment.sources import Kind, Missing, Ref
from longshore.node.preparing.types import CannotPrepare, NodeFacts, Server

if TYPE_CHECKING:
    from longshore.node.preparing.environment.sources import Sources


def resolve(
    spec: Obj,
    pod: Obj,
    sources: Sources | None,
    node: NodeFacts,
    pod_ip: str,
    services: Mapping[str, str],
    room: Room,
) -> dict[str, str]:
    """All variables of the container `spec`, those of the Services last. All but those of Services count
    against `room`; a variable that is set twice counts twice."""
    values: dict[str, str] = {}
    name = ""
    try:
        for source in spec.get("envFrom") or ():
            for name, value in _texts(source, sources):
                room.take(f"{name}={value}")
                values[name] = value
        value_of = from_maps(values, services)
        for variable in spec.get("env") or ():
            name = variable["name"]
            found: str | None = ""
            if text := variable.get("value"):
                found = expand(text, value_of)
            elif source := variable.get("valueFrom"):
                found = _value(source, spec, pod, sources, node, pod_ip)
            if found is not None:
                room.take(f"{name}={found}")
                values[name] = found
    except (Missing, downward.NoSuchField) as err:
        raise CannotPrepare("CreateContainerConfigError", str(err)) from None
    except TooLong as err:
        text = f'variable "{name}" {err}'
        raise CannotPrepare("CreateContainerConfigError", text, for_good=True) from None
    for name, value in services.items():
        values.setdefault(name, value)
    for name, value in values.items():
        if "\0" in value:
            message = f'variable "{name}" holds a zero byte, which no variable can'
            raise CannotPrepare("CreateContainerConfigError", message)
    return values


def expand_all(
    texts: list[str] | None, value_of: Callable[[str], str], room: Room, field: str
) -> tuple[str, ...]:
    """A command or its arguments with variables expanded; `field` is its name in errors."""
    expanded: list[str] = []
    try:
        for text in texts or ():
            expanded.append(expand(text, value_of))
            room.take(expanded[-1])
    except TooLong as err:
        text = f"an entry of {field} {err}"
        raise CannotPrepare("CreateContainerConfigError", text, for_good=True) from None
    return tuple(expanded)


def _texts(source: Obj, sources: Sources | None) -> Iterator[tuple[str, str]]:
    """The variables that one entry of `envFrom` stands for."""
    assert sources is not None  # sources.of_environment has found the same reference
    prefix = source.get("prefix") or ""
    named: tuple[tuple[Kind, str], ...] = (("configmap", "configMapRef"), ("secret", "secretRef"))
    for kind, key in named:
        if (ref := source.get(key)) is not None:
            found = sources.texts(Ref(kind, ref.get("name") or ""), optional=bool(ref.get("optional")))
            for name, value in (found or {}).items():
                yield prefix + name, value


def _value(
    source: Obj, spec: Obj, pod: Obj, sources: Sources | None, node: NodeFacts, pod_ip: str
) -> str | None:
    """The value of a `valueFrom`; None leaves the variable undefined."""
    if ref := source.get("fieldRef"):
        return downward.field_value(pod, ref["fieldPath"], node, pod_ip)
    if ref := source.get("resourceFieldRef"):
        return downward.resource_value(ref, pod, spec, node)
    if ref := source.get("configMapKeyRef"):
        return _key(Ref("configmap", ref.get("name") or ""), "ConfigMap", ref, sources)
    if ref := source.get("secretKeyRef"):
        return _key(Ref("secret", ref.get("name") or ""), "Secret", ref, sources)
    raise downward.NoSuchField(f"longshore cannot take a variable from {', '.join(source) or 'nothing'}")


def _key(named: Ref, kind: str, ref: Obj, sources: Sources | None) -> str | None:
    assert sources is not None  # sources.of_environment has found the same reference
    optional = bool(ref.get("optional"))
    found = sources.texts(named, optional=optional)
    if found is None:
        return None
    value = found.get(ref["key"])
    if value is None and not optional:
        raise Missing(f"couldn't find key {ref['key']} in {kind} {sources.namespace}/{named.name}")
    return value


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
