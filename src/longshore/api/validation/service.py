"""Checks of Services, after defaults and allocation."""

from __future__ import annotations

from typing import Final

from longshore.api import field, identifiers, label_syntax, names
from longshore.api.defaults.service import externally_accessible
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import metadata, net

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_FAMILIES: Final = ("IPv4", "IPv6")
_FAMILY_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_TRAFFIC_POLICIES: Final = ("Cluster", "Local")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameNode", "PreferSameZone")
_MAX_AFFINITY_SECONDS: Final = 86400
_FIXED_ONCE_SET: Final = "may not change once set"
_FOR_LOAD_BALANCERS: Final = "may only be used when `type` is 'LoadBalancer'"


def validate(service: Obj) -> list[FieldError]:
    spec = service["spec"]
    kind = spec["type"]
    headless = _is_headless(spec)
    found: list[FieldError] = []
    ports = spec.get("ports") or ()
    if not ports and not headless and kind != "ExternalName":
        found.append(field.required("spec.ports"))
    if headless and kind in ("LoadBalancer", "NodePort"):
        text = f"may not be set to 'None' for {kind} services"
        found.append(field.invalid("spec.clusterIPs[0]", "None", text))
    if kind == "ExternalName":
        found += _external_name(spec)
    seen_names: set[str] = set()
    for i, port in enumerate(ports):
        found += _port(port, len(ports) > 1, seen_names, f"spec.ports[{i}]")
    found += metadata.validate_labels(spec.get("selector"), "spec.selector")
    found += _affinity(spec)
    if kind != "ExternalName":
        found += _cluster_ips(spec)
    for i, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{i}]"
        found += net.validate_ip(address, path) or net.validate_not_special(address, path)
    found += field.one_of("spec.type", kind, _TYPES)
    found += _ports_together(spec)
    found += _load_balancer(spec)
    return found + _traffic(spec)


def _is_headless(spec: Obj) -> bool:
    return bool(spec.get("clusterIPs") == ["None"])


def _external_name(spec: Obj) -> list[FieldError]:
    text = "may not be set for ExternalName services"
    found = [
        field.forbidden(f"spec.{key}", text)
        for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(key)
    ]
    name = spec.get("externalName", "").removesuffix(".")
    if not name:
        return [*found, field.required("spec.externalName")]
    return found + [field.invalid("spec.externalName", name, t) for t in names.dns1123_subdomain(name)]


def _port(port: Obj, needs_name: bool, seen: set[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    name = port.get("name", "")
    if name:
        found += [field.invalid(f"{path}.name", name, text) for text in names.dns1123_label(name)]
        if name in seen:
            found.append(field.duplicate(f"{path}.name", name))
        seen.add(name)
    elif needs_name:
        found.append(field.required(f"{path}.name"))
    number = port.get("port", 0)
    found += [field.invalid(f"{path}.port", number, text) for text in identifiers.port_number(number)]
    found += field.one_of(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    found += net.validate_port_or_name(port["targetPort"], f"{path}.targetPort")
    protocol = port.get("appProtocol")
    if protocol is not None:
        found += field.each(f"{path}.appProtocol", protocol, label_syntax.qualified_name(protocol))
    return found


def _affinity(spec: Obj) -> list[FieldError]:
    affinity = spec["sessionAffinity"]
    if affinity not in _AFFINITIES:
        return [field.not_supported("spec.sessionAffinity", affinity, _AFFINITIES)]
    if affinity == "ClientIP":
        seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < seconds <= _MAX_AFFINITY_SECONDS:
            text = f"must be greater than 0 and less than {_MAX_AFFINITY_SECONDS}"
            return [field.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, text)]
    return []


def _cluster_ips(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    address, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    path = "spec.clusterIPs"
    if address:
        if not addresses:
            found.append(field.required(path))
        elif addresses[0] != address:
            found.append(field.invalid(path, addresses, "first value must match `clusterIP`"))
    elif addresses:
        found.append(field.invalid(path, addresses, "must be empty when `clusterIP` is not specified"))
    families = spec.get("ipFamilies") or []
    seen: set[str] = set()
    for i, family in enumerate(families):
        found += field.one_of(f"spec.ipFamilies[{i}]", family, _FAMILIES)
        if family in seen:
            found.append(field.duplicate(f"spec.ipFamilies[{i}]", family))
        seen.add(family)
    found += field.unsupported(spec, "ipFamilyPolicy", "spec", _FAMILY_POLICIES)
    broken = False
    for i, each in enumerate(addresses):
        if i == 0 and each == "None":
            if len(addresses) > 1:
                broken = True
                found.append(field.invalid(path, addresses, "'None' must be the first and only value"))
            continue
        wrong = net.validate_ip(each, f"{path}[{i}]")
        broken = broken or bool(wrong)
        found += wrong
    if len(addresses) > 2:
        found.append(field.invalid(path, addresses, "may only hold up to 2 values"))
    if broken or _is_headless(spec):
        return found
    if len(addresses) > 1 and len({net.is_v6(a) for a in addresses}) < len(addresses):
        text = "may specify no more than one IP for each IP family"
        found.append(field.invalid(path, addresses, text))
    for i, (each, family) in enumerate(zip(addresses, families, strict=False)):
        if net.is_v6(each) != (family == "IPv6"):
            text = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
            found.append(field.invalid(f"{path}[{i}]", each, text))
    return found


def _ports_together(spec: Obj) -> list[FieldError]:
    """Checks of ports against each other and against the type."""
    found: list[FieldError] = []
    ports = list(enumerate(spec.get("ports") or ()))
    if spec["type"] == "ClusterIP":
        text = "may not be used when `type` is 'ClusterIP'"
        found += [field.forbidden(f"spec.ports[{i}].nodePort", text) for i, p in ports if p.get("nodePort")]
    for key, path in (("nodePort", ".nodePort"), ("port", "")):
        seen: set[tuple[str, int]] = set()
        for i, port in ports:
            number = port.get(key)
            if not number:
                continue
            pair = (port["protocol"], number)
            if pair in seen:
                value = number if key == "nodePort" else _internal_port(*pair)
                found.append(field.duplicate(f"spec.ports[{i}]{path}", value))
            seen.add(pair)
    return found


def _internal_port(protocol: str, port: int) -> Obj:
    """A port the way Kubernetes prints it from its internal types."""
    return {
        "Name": "", "Protocol": protocol, "AppProtocol": None, "Port": port, "TargetPort": 0, "NodePort": 0,
    }  # fmt: skip


def _load_balancer(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    balances = spec["type"] == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges") or ()
    if ranges and not balances:
        found.append(field.forbidden("spec.LoadBalancerSourceRanges", _FOR_LOAD_BALANCERS))
    for i, text in enumerate(ranges):
        found += net.validate_cidr(text.strip(), f"spec.LoadBalancerSourceRanges[{i}]")
    if spec.get("allocateLoadBalancerNodePorts") is not None and not balances:
        found.append(field.forbidden("spec.allocateLoadBalancerNodePorts", _FOR_LOAD_BALANCERS))
    class_ = spec.get("loadBalancerClass")
    if class_ is not None:
        path = "spec.loadBalancerClass"
        if balances:
            found += [field.invalid(path, class_, text) for text in label_syntax.qualified_name(class_)]
        else:
            found.append(field.forbidden(path, _FOR_LOAD_BALANCERS))
    return found


def _traffic(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    outside = spec.get("externalTrafficPolicy", "")
    path = "spec.externalTrafficPolicy"
    if not externally_accessible(spec):
        if outside:
            text = "may only be set for externally-accessible services"
            found.append(field.invalid(path, outside, text))
    elif outside not in _TRAFFIC_POLICIES:
        found.append(field.not_supported(path, outside, _TRAFFIC_POLICIES))
    health = spec.get("healthCheckNodePort", 0)
    if spec["type"] == "LoadBalancer" and outside == "Local":
        found += field.each("spec.healthCheckNodePort", health, identifiers.port_number(health))
    elif health:
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        found.append(field.invalid("spec.healthCheckNodePort", health, text))
    found += field.unsupported(spec, "internalTrafficPolicy", "spec", _TRAFFIC_POLICIES)
    found += field.unsupported(spec, "trafficDistribution", "spec", _DISTRIBUTIONS)
    return found


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    spec, before = new["spec"], old["spec"]
    if "ExternalName" not in (spec["type"], before["type"]):
        found += _changed_addresses(spec, before)
    if spec["type"] == before["type"] == "LoadBalancer":
        class_ = spec.get("loadBalancerClass")
        if class_ != before.get("loadBalancerClass"):
            found.append(field.invalid("spec.loadBalancerClass", class_, _FIXED_ONCE_SET))
        policies = {spec.get("externalTrafficPolicy"), before.get("externalTrafficPolicy")}
        if policies == {"Local"} and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
            found.append(field.forbidden("spec.healthCheckNodePort", field.IMMUTABLE))
    found += metadata.validate_create(new["metadata"], namespaced=True, name_rule="label")
    return found + validate(new)


def _changed_addresses(spec: Obj, before: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    headless = _is_headless(spec), _is_headless(before)
    if all(headless):
        return found
    new, old = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if not new and old:
        found.append(field.invalid("spec.clusterIPs[0]", new, "primary clusterIP can not be unset"))
    pairs = list(zip(new, old, strict=False))
    for i, (one, other) in enumerate(pairs if len(new) == len(old) else pairs[:1]):
        if one != other:
            found.append(field.invalid(f"spec.clusterIPs[{i}]", new, _FIXED_ONCE_SET))
    policy = spec.get("ipFamilyPolicy")
    if len(old) > len(new) == 1 and policy != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        found.append(field.invalid("spec.ipFamilyPolicy", policy, text))
    if any(headless):
        return found
    families, were = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    if families[:1] != were[:1] and families and were:
        found.append(field.invalid("spec.ipFamilies[0]", families, _FIXED_ONCE_SET))
    if len(were) > len(families) == 1 and policy != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        found.append(field.invalid("spec.ipFamilyPolicy", policy, text))
    return found


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    ingresses = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    for i, ingress in enumerate(ingresses):
        path = f"status.loadBalancer.ingress[{i}]"
        if ingress.get("ip"):
            found += net.validate_ip(ingress["ip"], f"{path}.ip")
        host = ingress.get("hostname")
        if host:
            found += [field.invalid(f"{path}.hostname", host, t) for t in names.dns1123_subdomain(host)]
            if not identifiers.ip(host):
                text = "must be a DNS name, not an IP address"
                found.append(field.invalid(f"{path}.hostname", host, text))
    return found
