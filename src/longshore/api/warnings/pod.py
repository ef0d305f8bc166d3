"""Warnings about pods and pod templates, in the order Kubernetes gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from longshore.api import field, quantity, reads
from longshore.api.types import Obj
from longshore.api.validation.pod import containers, pod_annotations
from longshore.api.warnings import addresses, node_labels, pod_volumes, ports

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


@reads.reads(
    *(f"metadata.annotations[{key}]" for key, _ in _DEAD_ANNOTATIONS),
    *pod_annotations.READ,
)
def pod_warnings(pod: Obj) -> list[str]:
    """For a Pod that is created. Updates of Pods warn of nothing, as programs make them."""
    return _warnings(pod.get("spec") or {}, pod.get("metadata") or {}, "")


def pod_template_warnings(template: Obj, old: Obj | None, path: str) -> list[str]:
    """For a template at `path`, e.g. `spec.template`. `old` is the one it replaces; what was odd in it
    already is still warned of."""
    return _warnings(template.get("spec") or {}, template.get("metadata") or {}, f"{path}.")


def _warnings(spec: Obj, meta: Obj, prefix: str) -> list[str]:
    path = f"{prefix}spec"
    found: list[str] = []
    if spec.get("nodeSelector") or spec.get("affinity") or spec.get("topologySpreadConstraints"):
        found += node_labels.warnings(spec, path)
        for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
            if label := node_labels.deprecated(constraint.get("topologyKey") or ""):
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
    found += ports.warnings(every)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{path}.terminationGracePeriodSeconds: {text}")
    if affinity := spec.get("affinity"):
        for kind in ("podAffinity", "podAntiAffinity"):
            found += _affinity(affinity.get(kind) or {}, f"{path}.affinity.{kind}")
    for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        found += addresses.warnings(server, f"{path}.dnsConfig.nameservers[{i}]")
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        found += addresses.warnings(alias.get("ip") or "", f"{path}.hostAliases[{i}].ip")
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
    """A variable set twice, unless the second value is built from the first (`$(PATH):/more`)."""
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
