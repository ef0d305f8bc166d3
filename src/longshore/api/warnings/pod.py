"""Warnings about pods and pod templates, in the order Kubernetes gives them."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from typing import Final

from longshore.api import field, label_syntax, quantity
from longshore.api.types import Obj
from longshore.api.validation.pod import containers, pod_annotations
from longshore.api.warnings import pod_volumes

_DEAD_ANNOTATIONS: Final = (
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        'non-functional in v1.16+; use the "priorityClassName" field instead',
    ),
    ("security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        'non-functional in v1.11+; use the "sysctls" field instead',
    ),
)
_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APPARMOR: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_NO_MATCH: Final = "a null labelSelector results in matching no pod"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_BYTES: Final = ("memory", "ephemeral-storage")


def pod_warnings(pod: Obj) -> list[str]:
    """Warnings about a new Pod. Updates of Pods give no warnings, as programs make them."""
    return _warnings(pod.get("spec") or {}, pod.get("metadata") or {}, "")


def pod_template_warnings(template: Obj, old: Obj | None, path: str) -> list[str]:
    """Warnings about a template at `path`, e.g. `spec.template`. `old` is the template that it replaces;
    warnings about `old` are given again."""
    return _warnings(template.get("spec") or {}, template.get("metadata") or {}, f"{path}.")


def _warnings(spec: Obj, meta: Obj, prefix: str) -> list[str]:
    path = f"{prefix}spec"
    found: list[str] = []
    if spec.get("nodeSelector") or spec.get("affinity") or spec.get("topologySpreadConstraints"):
        found += node_label_warnings(spec, path)
        for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
            if label := deprecated(constraint.get("topologyKey") or ""):
                key = constraint["topologyKey"]
                found.append(f"{path}.topologySpreadConstraints[{i}].topologyKey: {key} is {label}")
            if constraint.get("labelSelector") is None:
                found.append(f"{path}.topologySpreadConstraints[{i}].labelSelector: {_NO_MATCH}")
    marks = meta.get("annotations") or {}
    if marks:
        found += [
            f"{prefix}metadata.annotations[{key}]: {text}" for key, text in _DEAD_ANNOTATIONS if key in marks
        ]
    if listed := spec.get("volumes"):
        found += pod_volumes.warnings(listed, f"{path}.volumes")
    if aliases := spec.get("hostAliases"):
        found += _repeated(aliases, "ip", f"{path}.hostAliases")
    if secrets := spec.get("imagePullSecrets"):
        found += _repeated(secrets, "name", f"{path}.imagePullSecrets")
        for i, secret in enumerate(secrets):
            if not secret.get("name"):
                found.append(f'{path}.imagePullSecrets[{i}].name: invalid empty name ""')
    if overhead := spec.get("overhead"):
        found += [text for name in _BYTES for text in _fractional(overhead, name, f"{path}.overhead")]
    every = list(containers.each(spec, path))
    found += _container_warnings(spec, every, marks, prefix)
    found += port_warnings(every)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{path}.terminationGracePeriodSeconds: {text}")
    if affinity := spec.get("affinity"):
        for kind in ("podAffinity", "podAntiAffinity"):
            found += _affinity(affinity.get(kind) or {}, f"{path}.affinity.{kind}")
    for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        found += warnings(server, f"{path}.dnsConfig.nameservers[{i}]")
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        found += warnings(alias.get("ip") or "", f"{path}.hostAliases[{i}].ip")
    return found


def _repeated(entries: list[Obj], key: str, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, entry in enumerate(entries):
        value = entry.get(key) or ""
        if value in seen:
            yield f"{path}[{i}].{key}: duplicate {key} {field.quoted(value)}"
        seen.add(value)


def _container_warnings(spec: Obj, every: list[tuple[str, Obj]], marks: Obj, prefix: str) -> list[str]:
    found: list[str] = []
    pod_context = spec.get("securityContext") or {}
    where = f"{prefix}metadata.annotations"
    if marks and pod_annotations.SECCOMP_POD in marks and pod_context.get("seccompProfile") is None:
        found.append(f"{where}[{pod_annotations.SECCOMP_POD}]: {_SECCOMP}")
    for path, container in every:
        if marks:
            name, context = container.get("name") or "", container.get("securityContext") or {}
            key = pod_annotations.SECCOMP_CONTAINER + name
            if key in marks and context.get("seccompProfile") is None:
                found.append(f"{where}[{key}]: {_SECCOMP}")
            key = pod_annotations.APPARMOR + name
            has_field = pod_context.get("appArmorProfile") or context.get("appArmorProfile")
            if prefix and key in marks and not has_field:
                found.append(f"{where}[{key}]: {_APPARMOR}")
        if resources := container.get("resources"):
            for name in _BYTES:
                for which in ("limits", "requests"):
                    found += _fractional(resources.get(which) or {}, name, f"{path}.resources.{which}")
        if len(variables := container.get("env") or []) > 1:
            found += _hidden(variables, f"{path}.env")
    return found


def _fractional(amounts: Obj, name: str, path: str) -> Iterator[str]:
    amount = amounts.get(name)
    if amount is not None and quantity.milli_value(amount) % 1000:
        yield f"{path}[{name}]: fractional byte value {field.quoted(amount)} is invalid, must be an integer"


def _hidden(variables: list[Obj], path: str) -> Iterator[str]:
    """Warns of a variable set twice, unless the second value contains the first (`$(PATH):/more`)."""
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        if name not in seen:
            seen.add(name)
        elif variable.get("valueFrom") is not None or value == reference or reference not in value:
            quoted = field.quoted(name)
            yield f"{path}[{i}]: hides previous definition of {quoted}, which may be dropped when using apply"


def _affinity(rules: Obj, path: str) -> Iterator[str]:
    for i, term in enumerate(rules.get(_REQUIRED) or ()):
        if term.get("labelSelector") is None:
            yield f"{path}.{_REQUIRED}[{i}].labelSelector: {_NO_MATCH}"
    for i, weighted in enumerate(rules.get(_PREFERRED) or ()):
        if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
            yield f"{path}.{_PREFERRED}[{i}].podAffinityTerm.labelSelector: {_NO_MATCH}"


# ---- Warnings about IP addresses in a form that a later Kubernetes will refuse.

_has_leading_zero: Final = re.compile(r"(?:^|\.)0\d").search


def warnings(address: str, path: str) -> list[str]:
    """Warnings about the form of a valid address."""
    quoted = field.quoted(address)
    if ":" not in address:
        if not _has_leading_zero(address):
            return []
        plain = ".".join(str(int(part)) for part in address.split("."))
        return [_nonstandard(path, quoted, plain)]
    try:
        raw = socket.inet_pton(socket.AF_INET6, address)
    except OSError:
        return []
    if raw[:12] == b"\0" * 10 + b"\xff\xff":
        return [_nonstandard(path, quoted, socket.inet_ntop(socket.AF_INET, raw[12:]))]
    shortest = socket.inet_ntop(socket.AF_INET6, raw)
    if shortest == address:
        return []
    return [
        f"{path}: IPv6 address {quoted} should be in RFC 5952 canonical format ({field.quoted(shortest)})"
    ]


def _nonstandard(path: str, quoted: str, instead: str) -> str:
    return (
        f"{path}: non-standard IP address {quoted} will be considered invalid in a future Kubernetes "
        f"release: use {field.quoted(instead)}"
    )


# ---- Warnings about renamed node labels in selectors, and about label values that no node can have.

_RENAMED: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
_REQUIRED_TERMS: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED_TERMS: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def deprecated(key: str) -> str:
    """The warning about a deprecated label key; empty for all others."""
    if key not in _RENAMED:
        return ""
    since, instead = _RENAMED[key]
    return f'deprecated since {since}; use "{instead}" instead'


def node_label_warnings(spec: Obj, path: str) -> list[str]:
    """Warnings about the node selector and node affinity of a pod spec."""
    found = []
    for key in spec.get("nodeSelector") or ():
        if text := deprecated(key):
            found.append(f"{path}.nodeSelector[{key}]: {text}")
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    here = f"{path}.affinity.nodeAffinity"
    for i, term in enumerate((affinity.get(_REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or ()):
        found += _term(term, f"{here}.{_REQUIRED_TERMS}.nodeSelectorTerms[{i}]", check_values=False)
    for i, weighted in enumerate(affinity.get(_PREFERRED_TERMS) or ()):
        found += _term(
            weighted.get("preference") or {},
            f"{here}.{_PREFERRED_TERMS}[{i}].preference",
            check_values=True,
        )
    return found


def _term(term: Obj, path: str, *, check_values: bool) -> list[str]:
    found = []
    for i, rule in enumerate(term.get("matchExpressions") or ()):
        key = rule.get("key") or ""
        if text := deprecated(key):
            found.append(f"{path}.matchExpressions[{i}].key: {key} is {text}")
        if check_values:
            for j, value in enumerate(rule.get("values") or ()):
                if problems := label_syntax.label_value(value):
                    where = f"{path}.matchExpressions[{i}].values[{j}]"
                    found.append(f"{where}: {value} is invalid, {';'.join(problems)}")
    return found


# ---- Warnings about ports of a pod's containers that are duplicate or ambiguous.


def port_warnings(containers: list[tuple[str, Obj]]) -> list[str]:
    """Warnings about ports. `containers` are (path, container), init containers first."""
    listed = [
        (f"{path}.ports[{i}]", port, container, path)
        for path, container in containers
        for i, port in enumerate(container.get("ports") or ())
    ]
    found: list[str] = []
    known: dict[tuple[int, str], list[tuple[str, Obj]]] = {}
    for path, port, _, _ in listed:
        host, address = port.get("hostPort") or 0, port.get("hostIP") or ""
        if address and not host:
            found.append(f"{path}: hostIP set without hostPort: {_shown(port)}")
        others = known.setdefault((port.get("containerPort") or 0, port.get("protocol") or ""), [])
        for other_path, other in others:
            if word := _clash(host, address, other.get("hostPort") or 0, other.get("hostIP") or ""):
                found.append(f"{path}: {word} port definition with {other_path}")
        others.append((path, port))
    return found + _names(listed)


def _clash(host: int, address: str, other_host: int, other_address: str) -> str:
    if host == other_host and address == other_address:
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    if host == other_host and bool(address) != bool(other_address):
        return "dangerously ambiguous"
    return ""


def _names(listed: list[tuple[str, Obj, Obj, str]]) -> list[str]:
    """Warns of names that occur in several containers, where the first one wins."""
    found = []
    first: dict[str, str] = {}
    for path, port, container, owner in listed:
        name = port.get("name")
        # Init containers have ended when clients connect to a port, unless they are sidecars.
        if not name or (".initContainers[" in owner and container.get("restartPolicy") != "Always"):
            continue
        if name in first:
            other = first[name]
            found.append(
                f"{path}: duplicate port name {field.quoted(name)} with {other}, services and probes that "
                f"select ports by name will use {other}"
            )
        else:
            first[name] = path
    return found


def _shown(port: Obj) -> str:
    """A port as Go prints the structure."""
    keys = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    empty = {"hostPort": 0, "containerPort": 0}
    parts = (f"{key[:1].upper()}{key[1:]}:{port.get(key) or empty.get(key, '')}" for key in keys)
    return "{" + " ".join(parts) + "}"
