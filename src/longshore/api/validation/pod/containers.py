"""Containers of all three sorts: what they share, and what each sort may or may not set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from longshore.api import field, names
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation.pod import env, mounts, pod_volumes, ports, probes, resources, restart, security

_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_INIT_ONLY: Final = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_EPHEMERAL_FORBIDDEN: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


class Surroundings(NamedTuple):
    """The facts of a pod that the checks of its containers need."""

    volumes: mounts.Volumes
    claim_names: resources.ClaimNames
    grace: int | None
    restart_policy: str
    host_users: bool


def each(spec: Obj, path: str) -> Iterator[tuple[str, Obj]]:
    """Every container of a spec with its path: init containers first, then the others."""
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(part) or ()):
            yield f"{path}.{part}[{i}]", container


def validate_containers(spec: Obj, around: Surroundings, path: str, found: list[FieldError]) -> None:
    """The regular containers, of which there must be one at least. `path` is the spec's."""
    regular = spec.get("containers")
    if not regular:
        found.append(field.required(f"{path}.containers"))
        return
    seen: set[str] = set()
    for i, container in enumerate(regular):
        here = f"{path}.containers[{i}]"
        _common(container, around, here, found)
        name = container.get("name") or ""
        if name in seen:
            found.append(field.duplicate(f"{here}.name", name))
        seen.add(name)
        _hooks(container, around, here, found)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            restart.validate_container_policy(container, here, found)
    if any("ports" in c for c in regular):
        listed = ((f"{path}.containers[{i}]", c) for i, c in enumerate(regular))
        ports.validate_host_ports(listed, found)


def validate_init_containers(spec: Obj, around: Surroundings, path: str, found: list[FieldError]) -> None:
    """Init containers; those with restartPolicy Always are sidecars and may have probes and hooks."""
    seen = {c.get("name") or "" for c in spec.get("containers") or ()}
    for i, container in enumerate(spec["initContainers"]):
        here = f"{path}.initContainers[{i}]"
        _common(container, around, here, found)
        restart.validate_container_policy(container, here, found)
        name = container.get("name") or ""
        if name in seen:
            found.append(field.duplicate(f"{here}.name", name))
        elif name:
            seen.add(name)
        # Init containers run one after the other, so only their own ports can clash. Upstream numbers
        # the container 0 here whichever it is.
        ports.validate_host_ports([(f"{path}.initContainers[0]", container)], found)
        if container.get("restartPolicy") == "Always":
            _hooks(container, around, here, found)
            continue
        for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(key) is not None:
                found.append(field.forbidden(f"{here}.{key}", _INIT_ONLY))
        for j, policy in enumerate(container.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == "RestartContainer":
                text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                where = f"{here}.resizePolicy[{j}].restartPolicy"
                found.append(field.invalid(where, "RestartContainer", text))


def validate_ephemeral_containers(
    spec: Obj, around: Surroundings, path: str, found: list[FieldError]
) -> None:
    """Containers added to a running pod by `kubectl debug`: no part of the workload, so much is barred."""
    others = {c.get("name") or "" for part in ("containers", "initContainers") for c in spec.get(part) or ()}
    seen = set(others)
    for i, container in enumerate(spec["ephemeralContainers"]):
        here = f"{path}.ephemeralContainers[{i}]"
        _common(container, around, here, found)
        validate_image_for_pod(container, here, found)
        name = container.get("name") or ""
        if name in seen:
            found.append(field.duplicate(f"{here}.name", name))
        seen.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            found.append(field.not_found(f"{here}.targetContainerName", target))
        found += [
            field.forbidden(f"{here}.{key}", _NOT_EPHEMERAL)
            for key in _EPHEMERAL_FORBIDDEN
            if container.get(key)
        ]
        for j, mount in enumerate(container.get("volumeMounts") or ()):
            for key in ("subPath", "subPathExpr"):
                if mount.get(key):
                    found.append(field.forbidden(f"{here}.volumeMounts[{j}].{key}", _NOT_EPHEMERAL))


def validate_image_for_pod(container: Obj, path: str, found: list[FieldError]) -> None:
    """Spaces around an image pass in templates only, where some tools use them as placeholders."""
    image = container.get("image") or ""
    if image != image.strip():
        text = "must not have leading or trailing whitespace"
        found.append(field.invalid(f"{path}.image", image, text))


def _hooks(container: Obj, around: Surroundings, path: str, found: list[FieldError]) -> None:
    if (lifecycle := container.get("lifecycle")) is not None:
        probes.validate_lifecycle(lifecycle, around.grace, f"{path}.lifecycle", found)
    if "livenessProbe" in container or "readinessProbe" in container or "startupProbe" in container:
        probes.validate_probes(container, around.grace, path, found)


def _common(container: Obj, around: Surroundings, path: str, found: list[FieldError]) -> None:
    name = container.get("name")
    if not name:
        found.append(field.required(f"{path}.name"))
    elif problems := names.dns1123_label(name):
        found += [field.invalid(f"{path}.name", name, text) for text in problems]
    if not container.get("image"):
        found.append(field.required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy") or ""
    if policy not in _MESSAGE_POLICIES:
        where = f"{path}.terminationMessagePolicy"
        problem = field.not_supported(where, policy, _MESSAGE_POLICIES) if policy else field.required(where)
        found.append(problem)
    if listed := container.get("ports"):
        ports.validate_ports(listed, f"{path}.ports", found)
    if listed := container.get("env"):
        env.validate_env(listed, f"{path}.env", found)
    if listed := container.get("envFrom"):
        env.validate_env_from(listed, f"{path}.envFrom", found)
    if container.get("volumeMounts"):
        mounts.validate_mounts(container, around.volumes, path, found)
    if container.get("volumeDevices"):
        mounts.validate_devices(container, around.volumes, path, found)
    if (policy := container.get("imagePullPolicy") or "") not in pod_volumes.PULL_POLICIES:
        pod_volumes.validate_pull_policy(policy, f"{path}.imagePullPolicy", found)
    if wanted := container.get("resources"):
        resources.validate_requirements(wanted, around.claim_names, f"{path}.resources", found)
    if listed := container.get("resizePolicy"):
        restart.validate_resize_policy(listed, around.restart_policy, f"{path}.resizePolicy", found)
    if context := container.get("securityContext"):
        security.validate_container(context, f"{path}.securityContext", found, host_users=around.host_users)
