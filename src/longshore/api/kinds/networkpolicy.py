"""NetworkPolicies: stored and validated for clients that write them; longshore filters no traffic."""

from __future__ import annotations

from typing import Final

from longshore.api import field, identifiers
from longshore.api.defaults import fill
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata, net

_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_TYPES: Final = ("Ingress", "Egress")
_DIRECTIONS: Final = (("ingress", "from"), ("egress", "to"))


def _default(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("podSelector", {})
    for direction, _ in _DIRECTIONS:
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                fill(port, protocol="TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _validate_create(obj: Obj) -> list[FieldError]:
    spec = obj["spec"]
    found = metadata.validate_label_selector(spec["podSelector"], "spec.podSelector")
    for direction, peers in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{i}]"
            for j, port in enumerate(rule.get("ports") or ()):
                found += _port(port, f"{path}.ports[{j}]")
            for j, peer in enumerate(rule.get(peers) or ()):
                found += _peer(peer, f"{path}.{peers}[{j}]")
    types = spec["policyTypes"]
    if len(types) > len(_TYPES):
        text = "may not specify more than two policyTypes"
        return [*found, field.invalid("spec.policyTypes", types, text)]
    for i, each in enumerate(types):
        found += field.one_of(f"spec.policyTypes[{i}]", each, _TYPES)
    return found


def _port(port: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    protocol, number, end = port["protocol"], port.get("port"), port.get("endPort")
    found += field.one_of(f"{path}.protocol", protocol, _PROTOCOLS)
    if number is None:
        if end is not None:
            text = "may not be specified when `port` is not specified"
            found.append(field.invalid(f"{path}.endPort", end, text))
        return found
    if isinstance(number, str) and end is not None:
        text = "may not be specified when `port` is non-numeric"
        found.append(field.invalid(f"{path}.endPort", end, text))
    found += net.validate_port_or_name(number, f"{path}.port")
    if isinstance(number, int) and end is not None:
        if end < number:
            text = "must be greater than or equal to `port`"
            found.append(field.invalid(f"{path}.endPort", end, text))
        found += [field.invalid(f"{path}.endPort", end, text) for text in identifiers.port_number(end)]
    return found


def _peer(peer: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for key in ("podSelector", "namespaceSelector"):
        found += metadata.validate_label_selector(peer.get(key), f"{path}.{key}")
    block = peer.get("ipBlock")
    if block is not None:
        found += _ip_block(block, f"{path}.ipBlock")
    given = [key for key in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(key) is not None]
    if not given:
        found.append(field.required(path, "must specify a peer"))
    elif len(given) > 1 and block is not None:
        found.append(field.forbidden(path, "may not specify both ipBlock and another peer"))
    return found


def _ip_block(block: Obj, path: str) -> list[FieldError]:
    cidr = block.get("cidr", "")
    if not cidr:
        return [field.required(f"{path}.cidr")]
    found = net.validate_cidr(cidr, f"{path}.cidr")
    if found:
        return found
    for i, hole in enumerate(block.get("except") or ()):
        wrong = net.validate_cidr(hole, f"{path}.except[{i}]")
        found += wrong
        if not wrong and not net.is_inside(hole, cidr):
            found.append(field.invalid(f"{path}.except[{i}]", hole, "must be a strict subset of `cidr`"))
    return found


STRATEGY: Final = Strategy(
    has_status=False,
    default=_default,
    validate_create=_validate_create,
    validate_update=metadata.again(_validate_create),
)
