"""Checks a whole pod spec, in Kubernetes' order, since clients see that order.

Valid specs are cheap: a missing field costs one look-up, and no path is built for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from longshore.api import field, identifiers, names
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import (
    affinity,
    containers,
    env,
    pod_annotations,
    pod_volumes,
    resources,
    scheduling,
    security,
    windows,
)

Rule = Callable[[str], list[str]]

_NO_CLAIMS: Final[resources.ClaimNames] = frozenset()
_NO_VOLUMES: Final[dict[str, Obj]] = {}
_MAX_INT32: Final = 2147483647


def validate_pod_spec(spec: Obj, path: str, *, pod: Obj | None = None) -> list[FieldError]:
    """Checks a pod spec. `pod` is the whole object if the spec is a real Pod's, not a template's: then host
    ports must be filled in, and claims of ephemeral volumes have the pod's name."""
    found: list[FieldError] = []
    meta: Obj = {} if pod is None else pod.get("metadata") or {}
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        found.append(field.required(f"{path}.terminationGracePeriodSeconds"))
    usable = _NO_VOLUMES
    if listed := spec.get("volumes"):
        usable = pod_volumes.validate_volumes(
            listed, f"{path}.volumes", found, pod_name=meta.get("name") or ""
        )
    claims = _NO_CLAIMS
    if listed := spec.get("resourceClaims"):
        claims = frozenset(c["name"] for c in listed if c.get("name"))
        mirror = pod_annotations.MIRROR in (meta.get("annotations") or ())
        resources.validate_resource_claims(listed, f"{path}.resourceClaims", found, mirror=mirror)
    around = containers.Surroundings(
        usable, claims, grace, spec.get("restartPolicy") or "", spec.get("hostUsers") is not False
    )
    containers.validate_containers(spec, around, path, found)
    if spec.get("initContainers"):
        containers.validate_init_containers(spec, around, path, found)
    if spec.get("ephemeralContainers"):
        containers.validate_ephemeral_containers(spec, around, path, found)
    if spec.get("resources") is not None:
        resources.validate_pod_resources(spec, claims, path, found)
    if spec.get("hostNetwork"):
        containers.validate_host_network(spec, path, found, is_pod=pod is not None)
    found += field.chosen(f"{path}.restartPolicy", around.restart_policy, _RESTARTS)
    policy = spec.get("dnsPolicy") or ""
    found += field.chosen(f"{path}.dnsPolicy", policy, _POLICIES)
    if labels := spec.get("nodeSelector"):
        found += metadata.validate_labels(labels, f"{path}.nodeSelector")
    if spec.get("securityContext"):
        security.validate_pod(spec, f"{path}.securityContext", found)
    elif spec.get("hostPID"):
        security.validate_shared_processes(spec, f"{path}.securityContext", found)
    if (rules := spec.get("affinity")) is not None:
        affinity.validate_affinity(rules, f"{path}.affinity", found)
    if policy == "None" or "dnsConfig" in spec:
        validate_config(spec.get("dnsConfig"), policy, f"{path}.dnsConfig", found)
    if listed := spec.get("readinessGates"):
        scheduling.validate_readiness_gates(listed, f"{path}.readinessGates", found)
    if listed := spec.get("schedulingGates"):
        scheduling.validate_scheduling_gates(listed, f"{path}.schedulingGates", found)
    if listed := spec.get("topologySpreadConstraints"):
        scheduling.validate_spread(listed, f"{path}.topologySpreadConstraints", found)
    every = list(containers.each(spec, path))
    if _mentions_windows(spec, every):
        windows.validate_host_process(spec, every, path, found)
    if not around.host_users:
        _own_users(spec, every, path, found)
    if spec.get("hostnameOverride") is not None:
        validate_hostname_override(spec, path, found)
    _names(spec, path, found)
    if amounts := spec.get("overhead"):
        resources.validate_requirements({"limits": amounts}, _NO_CLAIMS, f"{path}.overhead", found)
    if spec.get("os") is not None:
        windows.validate_system(spec, every, path, found)
    env.validate_file_ref_volumes(spec, every, found)
    return found


def _mentions_windows(spec: Obj, every: list[tuple[str, Obj]]) -> bool:
    if "windowsOptions" in (spec.get("securityContext") or ()):
        return True
    return any("windowsOptions" in (c.get("securityContext") or ()) for _, c in every)


def _own_users(spec: Obj, every: list[tuple[str, Obj]], path: str, found: list[FieldError]) -> None:
    """Checks that a pod with its own user namespace shares no other namespace with the host."""
    text = "when `hostUsers` is false"
    for key, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(key):
            found.append(field.forbidden(f"{path}.{shown}", text))
    found += [field.forbidden(f"{at}.volumeDevices", text) for at, c in every if c.get("volumeDevices")]


def _names(spec: Obj, path: str, found: list[FieldError]) -> None:
    """Checks the names of other objects, the deadline, and the lists that Kubernetes checks between these."""
    _name(spec, "serviceAccountName", names.dns1123_subdomain, path, found)
    _name(spec, "nodeName", names.dns1123_subdomain, path, found)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        text = f"must be between 1 and {_MAX_INT32}, inclusive"
        found.append(field.invalid(f"{path}.activeDeadlineSeconds", deadline, text))
    _name(spec, "hostname", names.dns1123_label, path, found)
    _name(spec, "subdomain", names.dns1123_label, path, found)
    if listed := spec.get("tolerations"):
        scheduling.validate_tolerations(listed, f"{path}.tolerations", found)
    if listed := spec.get("hostAliases"):
        validate_host_aliases(listed, f"{path}.hostAliases", found)
    _name(spec, "priorityClassName", names.dns1123_subdomain, path, found)
    if (name := spec.get("runtimeClassName")) is not None:
        found += [field.invalid(f"{path}.runtimeClassName", name, t) for t in names.dns1123_subdomain(name)]
    if (policy := spec.get("preemptionPolicy")) is not None:
        found += field.chosen(f"{path}.preemptionPolicy", policy, scheduling.PREEMPTION)


def _name(spec: Obj, key: str, rule: Rule, path: str, found: list[FieldError]) -> None:
    value = spec.get(key)
    if value and (problems := rule(value)):
        found += [field.invalid(f"{path}.{key}", value, text) for text in problems]


def validate_pod_template(template: Obj, path: str) -> list[FieldError]:
    """Checks the template of a Job or PodTemplate. Paths of its labels and annotations lack `metadata`."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    found: list[FieldError] = []
    if labels := meta.get("labels"):
        found += metadata.validate_labels(labels, f"{path}.labels")
    marks = meta.get("annotations")
    if marks:
        found += metadata.validate_annotations(marks, f"{path}.annotations")
        pod_annotations.validate_annotations(marks, spec, f"{path}.annotations", found)
    found += validate_pod_spec(spec, f"{path}.spec")
    if marks:
        pod_annotations.validate_agreement(marks, spec, f"{path}.spec", found)
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        found.append(field.forbidden(f"{path}.spec.ephemeralContainers", text))
    return found


def validate_pod(pod: Obj) -> list[FieldError]:
    """Checks the rules for any version of a Pod, apart from those of metadata common to all kinds."""
    spec, marks = _parts(pod)
    found: list[FieldError] = []
    if marks:
        pod_annotations.validate_annotations(marks, spec, "metadata.annotations", found)
    found += validate_pod_spec(spec, "spec", pod=pod)
    if not spec.get("serviceAccountName"):
        _no_tokens(spec, found)
    for part in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(part) or ()):
            containers.validate_image_for_pod(container, f"spec.{part}[{i}]", found)
    return found


def validate_pod_create(pod: Obj) -> list[FieldError]:
    """Checks a new Pod. The problems are in the order of upstream's."""
    found, (spec, marks) = validate_pod(pod), _parts(pod)
    if spec.get("ephemeralContainers"):
        found.append(field.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        text = "cannot be set until all schedulingGates have been cleared"
        found.append(field.forbidden("spec.nodeName", text))
    if marks:
        pod_annotations.validate_agreement(marks, spec, "spec", found)
    return found


def _parts(pod: Obj) -> tuple[Obj, Obj]:
    """The spec and the annotations of a pod."""
    return pod.get("spec") or {}, (pod.get("metadata") or {}).get("annotations") or {}


def _no_tokens(spec: Obj, found: list[FieldError]) -> None:
    """Refuses tokens of a service account where the pod names none."""
    for i, volume in enumerate(spec.get("volumes") or ()):
        for j, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                where = f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken"
                text = "must not be specified when serviceAccountName is not set"
                found.append(field.forbidden(where, text))


# ---- Name resolution and host names of a pod: DNS policy and settings, host aliases, host names.

_RESTARTS: Final = ("Always", "OnFailure", "Never")
_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
# The limits of the C library's resolver.
_MAX_SERVERS: Final = 3
_MAX_SEARCHES: Final = 32
_MAX_SEARCH_CHARS: Final = 2048
_MAX_HOSTNAME_CHARACTERS: Final = 64


def validate_config(config: Obj | None, policy: str, path: str, found: list[FieldError]) -> None:
    """Checks `dnsConfig`, which policy None requires."""
    if policy == "None":
        if config is None:
            found.append(field.required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            found.append(field.required(f"{path}.nameservers", text))
            return
    if config is None:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MAX_SERVERS:
        text = f"must not have more than {_MAX_SERVERS} nameservers"
        found.append(field.invalid(f"{path}.nameservers", servers, text))
    for i, server in enumerate(servers):
        found += [field.invalid(f"{path}.nameservers[{i}]", server, text) for text in identifiers.ip(server)]
    if len(searches) > _MAX_SEARCHES:
        text = f"must not have more than {_MAX_SEARCHES} search paths"
        found.append(field.invalid(f"{path}.searches", searches, text))
    if len(" ".join(searches)) > _MAX_SEARCH_CHARS:
        text = f"must not have more than {_MAX_SEARCH_CHARS} characters (including spaces) in the search list"
        found.append(field.invalid(f"{path}.searches", searches, text))
    for i, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            problems = names.dns1123_subdomain_with_underscore(domain)
            found += [field.invalid(f"{path}.searches[{i}]", domain, text) for text in problems]
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            found.append(field.required(f"{path}.options[{i}]", "must not be empty"))


def validate_host_aliases(aliases: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    for i, alias in enumerate(aliases):
        address = alias.get("ip") or ""
        found += [field.invalid(f"{path}[{i}].ip", address, text) for text in identifiers.ip(address)]
        for j, name in enumerate(alias.get("hostnames") or ()):
            where = f"{path}[{i}].hostnames[{j}]"
            found += [field.invalid(where, name, text) for text in names.dns1123_subdomain(name)]


def validate_hostname_override(spec: Obj, path: str, found: list[FieldError]) -> None:
    """Checks `hostnameOverride`. `path` is the spec's."""
    name, where = spec["hostnameOverride"], f"{path}.hostnameOverride"
    if spec.get("setHostnameAsFQDN"):
        found.append(field.forbidden(where, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        found.append(field.forbidden(where, "may not be specified when hostNetwork is true"))
    if len(name) > _MAX_HOSTNAME_CHARACTERS:
        found.append(field.too_long(where, _MAX_HOSTNAME_CHARACTERS))
    found += [field.invalid(where, name, text) for text in names.dns1123_subdomain(name)]
