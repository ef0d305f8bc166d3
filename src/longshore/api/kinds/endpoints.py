"""Endpoints: addresses behind a service, as clients write them."""

from __future__ import annotations

from typing import Final

from longshore.api import field, identifiers, label_syntax, names
from longshore.api.defaults import fill
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata, net

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_DEPRECATED: Final = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"


def _default(obj: Obj) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            fill(port, protocol="TCP")


def _validate_create(obj: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    for i, subset in enumerate(obj.get("subsets") or ()):
        found += _subset(subset, f"subsets[{i}]")
    return found


def _subset(subset: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        found.append(field.required(path, "must specify `addresses` or `notReadyAddresses`"))
    for key in ("addresses", "notReadyAddresses"):
        for i, address in enumerate(subset.get(key) or ()):
            found += _address(address, f"{path}.{key}[{i}]")
    ports = subset.get("ports") or ()
    for i, port in enumerate(ports):
        found += _port(port, len(ports) > 1, f"{path}.ports[{i}]")
    return found


def _address(address: Obj, path: str) -> list[FieldError]:
    ip = address.get("ip", "")
    found = net.validate_ip(ip, f"{path}.ip")
    host, node = address.get("hostname"), address.get("nodeName")
    if host:
        found += [field.invalid(f"{path}.hostname", host, text) for text in names.dns1123_label(host)]
    if node is not None:
        found += [field.invalid(f"{path}.nodeName", node, text) for text in names.dns1123_subdomain(node)]
    return found + net.validate_not_special(ip, f"{path}.ip")


def _port(port: Obj, needs_name: bool, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    name, number, protocol = port.get("name", ""), port.get("port", 0), port["protocol"]
    if name:
        found += [field.invalid(f"{path}.name", name, text) for text in names.dns1123_label(name)]
    elif needs_name:
        found.append(field.required(f"{path}.name"))
    found += [field.invalid(f"{path}.port", number, text) for text in identifiers.port_number(number)]
    found += field.one_of(f"{path}.protocol", protocol, _PROTOCOLS)
    app = port.get("appProtocol")
    if app is not None:
        found += field.each(f"{path}.appProtocol", app, label_syntax.qualified_name(app))
    return found


STRATEGY: Final = Strategy(
    counts_generation=False,
    has_status=False,
    create_on_update=True,
    default=_default,
    validate_create=_validate_create,
    warnings_create=lambda obj: [_DEPRECATED],
    warnings_update=lambda new, old: [_DEPRECATED],
    validate_update=metadata.again(_validate_create, namespaced=True),
)
