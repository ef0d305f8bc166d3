"""Containers, init containers and ephemeral containers: the rules they share, and what each kind may set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from longshore.api import field, identifiers, names
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation.pod import env, mounts, pod_volumes, probes, resources, security

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
    """Checks the regular containers, of which there must be at least one. `path` is the spec's."""
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
            validate_container_policy(container, here, found)
    if any("ports" in c for c in regular):
        listed = ((f"{path}.containers[{i}]", c) for i, c in enumerate(regular))
        validate_host_ports(listed, found)


def validate_init_containers(spec: Obj, around: Surroundings, path: str, found: list[FieldError]) -> None:
    """Checks init containers; those with restartPolicy Always are sidecars and may have probes and hooks."""
    seen = {c.get("name") or "" for c in spec.get("containers") or ()}
    for i, container in enumerate(spec["initContainers"]):
        here = f"{path}.initContainers[{i}]"
        _common(container, around, here, found)
        validate_container_policy(container, here, found)
        name = container.get("name") or ""
        if name in seen:
            found.append(field.duplicate(f"{here}.name", name))
        elif name:
            seen.add(name)
        # Init containers run one after the other, so only their own ports can clash. Upstream numbers
        # the container 0 here whichever it is.
        validate_host_ports([(f"{path}.initContainers[0]", container)], found)
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
    """Checks containers that `kubectl debug` adds to a running pod, for which much is forbidden."""
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
    """Refuses spaces around an image. Templates may have them, since some tools use them as placeholders."""
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
        found += field.chosen(where, policy, _MESSAGE_POLICIES)
    if listed := container.get("ports"):
        validate_ports(listed, f"{path}.ports", found)
    if listed := container.get("env"):
        env.validate_env(listed, f"{path}.env", found)
    if listed := container.get("envFrom"):
        env.validate_env_from(listed, f"{path}.envFrom", found)
    if container.get("volumeMounts"):
        mounts.validate_mounts(container, around.volumes, path, found)
    if container.get("volumeDevices"):
        mounts.validate_devices(container, around.volumes, path, found)
    if (policy := container.get("imagePullPolicy") or "") not in pod_volumes.PULL_POLICIES:
        found += field.chosen(f"{path}.imagePullPolicy", policy, pod_volumes.PULL_POLICIES)
    if wanted := container.get("resources"):
        resources.validate_requirements(wanted, around.claim_names, f"{path}.resources", found)
    if listed := container.get("resizePolicy"):
        validate_resize_policy(listed, around.restart_policy, f"{path}.resizePolicy", found)
    if context := container.get("securityContext"):
        security.validate_container(context, f"{path}.securityContext", found, host_users=around.host_users)


# ---- Restarts of containers: restartPolicy and its rules, and restarts by a resize.

_CONTAINER_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_RESIZE: Final = ("NotRequired", "RestartContainer")
_RESIZABLE: Final = ("cpu", "memory")
_MAX_RULES: Final = 20
_MAX_CODES: Final = 255


def validate_container_policy(container: Obj, path: str, found: list[FieldError]) -> None:
    """Checks `restartPolicy` and `restartPolicyRules` of one container. Rules need a policy beside them."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if not rules:
            return
        text = "must specify restartPolicy when restart rules are used"
        found.append(field.required(f"{path}.restartPolicy", text))
    elif policy not in _CONTAINER_POLICIES:
        found.append(field.not_supported(f"{path}.restartPolicy", policy, _CONTAINER_POLICIES))
    if len(rules) > _MAX_RULES:
        found.append(field.too_many(f"{path}.restartPolicyRules", len(rules), _MAX_RULES))
    for i, rule in enumerate(rules):
        _rule(rule, f"{path}.restartPolicyRules[{i}]", found)


def _rule(rule: Obj, path: str, found: list[FieldError]) -> None:
    action, codes = rule.get("action") or "", rule.get("exitCodes")
    found += field.one_of(f"{path}.action", action, _ACTIONS)
    if codes is None:
        found.append(field.required(f"{path}.exitCodes", "must be specified"))
        return
    operator, values = codes.get("operator") or "", codes.get("values") or ()
    found += field.one_of(f"{path}.exitCodes.operator", operator, _OPERATORS)
    if len(values) > _MAX_CODES:
        found.append(field.too_many(f"{path}.exitCodes.values", len(values), _MAX_CODES))


def validate_resize_policy(
    policies: Sequence[Obj], pod_policy: str, path: str, found: list[FieldError]
) -> None:
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            found.append(field.duplicate(f"{path}[{i}]", name))
        seen.add(name)
        found += field.chosen(path, name, _RESIZABLE) + field.chosen(path, restart, _RESIZE)
        if pod_policy == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            found.append(field.invalid(path, restart, text))


# ---- Container ports: their names and numbers, and host ports that must not clash.

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def validate_ports(ports: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, port in enumerate(ports):
        if name := port.get("name"):
            problems = identifiers.port_name(name)
            if problems:
                found += [field.invalid(f"{path}[{i}].name", name, text) for text in problems]
            elif name in seen:
                found.append(field.duplicate(f"{path}[{i}].name", name))
            else:
                seen.add(name)
        number = port.get("containerPort") or 0
        if number == 0:
            found.append(field.required(f"{path}[{i}].containerPort"))
        elif not 1 <= number <= 65535:
            found += field.each(f"{path}[{i}].containerPort", number, identifiers.port_number(number))
        if host := port.get("hostPort"):
            found += [field.invalid(f"{path}[{i}].hostPort", host, t) for t in identifiers.port_number(host)]
        protocol = port.get("protocol") or ""
        if protocol not in PROTOCOLS:
            found += field.chosen(f"{path}[{i}].protocol", protocol, PROTOCOLS)


def validate_host_ports(containers: Iterable[tuple[str, Obj]], found: list[FieldError]) -> None:
    """Checks that no two of these containers (path, container) use the same host port."""
    taken: set[str] = set()
    for path, container in containers:
        for i, port in enumerate(container.get("ports") or ()):
            if number := port.get("hostPort"):
                key = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{number}"
                if key in taken:
                    found.append(field.duplicate(f"{path}.ports[{i}].hostPort", key))
                taken.add(key)


def validate_host_network(spec: Obj, path: str, found: list[FieldError], *, is_pod: bool) -> None:
    """Checks that ports on the host's network are host ports. Templates may leave the host port out."""
    if not spec.get("hostNetwork"):
        return
    for c, container in enumerate(spec.get("containers") or ()):
        for i, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (is_pod or host) and host != (port.get("containerPort") or 0):
                found.append(
                    field.invalid(
                        f"{path}.containers[{c}].ports[{i}].hostPort",
                        host,
                        "must match `containerPort` when `hostNetwork` is true",
                    )
                )
