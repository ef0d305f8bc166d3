"""The checks of level `baseline`, which forbid known privilege escalations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from longshore.api import field
from longshore.api.pod_security.reading import (
    Forbidden,
    Pod,
    count,
    mapping,
    mappings,
    named,
    quoted,
    texts,
)

_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES: Final = ("RuntimeDefault", "Localhost")
_HOST_NAMESPACES: Final = ("hostNetwork", "hostPID", "hostIPC")
CAPABILITIES: Final = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
    "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip
"""The capabilities that container runtimes grant by default."""
_SELINUX_TYPES: Final = (
    (0, ("", "container_t", "container_init_t", "container_kvm_t")),
    (31, ("container_engine_t",)),
)
_SYSCTLS: Final = (
    (0, ("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
         "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start")),
    (27, ("net.ipv4.ip_local_reserved_ports",)),
    (29, ("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
          "net.ipv4.tcp_keepalive_probes")),
    (32, ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")),
)  # fmt: skip
"""Allowed sysctls, by the first version that allows them."""


def _profile_setters(pod: Pod, profile: str) -> tuple[str, set[str]]:
    """The pod and the containers that set a forbidden type of profile, and the types that they set."""
    values: set[str] = set()

    def is_bad(context: Mapping[str, Any]) -> bool:
        if (found := context.get(profile)) is None:
            return False
        kind = str(mapping(found).get("type", ""))
        if kind not in _PROFILES:
            values.add(kind)
        return kind not in _PROFILES

    return pod.setters(is_bad), values


def app_armor(pod: Pod) -> Forbidden | None:
    setters, values = _profile_setters(pod, "appArmorProfile")
    annotations = sorted(
        f"{key}={field.quoted(str(value))}"
        for key, value in pod.annotations.items()
        if key.startswith(_APPARMOR) and not _is_allowed_by_annotation(str(value))
    )
    if annotations:
        setters = " and ".join(filter(None, (setters, count("annotation", annotations))))
    if not setters:
        return None
    found = [*sorted(values), *annotations]
    text = f"{setters} must not set AppArmor profile type to {quoted(found)}"
    return Forbidden(count("forbidden AppArmor profile", found), text)


def _is_allowed_by_annotation(profile: str) -> bool:
    return profile in ("", "runtime/default") or profile.startswith("localhost/")


def capabilities(pod: Pod, allowed: frozenset[str] = CAPABILITIES) -> Forbidden | None:
    bad, found = [], set()
    for each in pod.containers:
        more = set(texts(mapping(each.context.get("capabilities")).get("add"))) - allowed
        if more:
            bad.append(each.name)
            found |= more
    if not bad:
        return None
    what = f"{named(bad)} must not include {quoted(sorted(found))} in securityContext.capabilities.add"
    return Forbidden("non-default capabilities", what)


def host_namespaces(pod: Pod) -> Forbidden | None:
    found = [f"{name}=true" for name in _HOST_NAMESPACES if pod.spec.get(name)]
    return Forbidden("host namespaces", ", ".join(found)) if found else None


def host_paths(pod: Pod) -> Forbidden | None:
    found = [str(each.get("name", "")) for each in mappings(pod.spec.get("volumes")) if "hostPath" in each]
    return Forbidden("hostPath volumes", named(found, "volume")) if found else None


def host_ports(pod: Pod) -> Forbidden | None:
    bad, found = [], set()
    for each in pod.containers:
        ports = {str(port["hostPort"]) for port in mappings(each.spec.get("ports")) if port.get("hostPort")}
        if ports:
            bad.append(each.name)
            found |= ports
    if not bad:
        return None
    use = "uses" if len(bad) == 1 else "use"
    return Forbidden("hostPort", f"{named(bad)} {use} {count('hostPort', found)} {', '.join(sorted(found))}")


def probe_hosts(pod: Pod) -> Forbidden | None:
    if pod.minor < 34:
        return None
    bad, found = set(), set()
    for each in pod.containers:
        hooks = mapping(each.spec.get("lifecycle"))
        handlers = [each.spec.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [hooks.get(name) for name in ("postStart", "preStop")]
        hosts = {
            str(host)
            for handler in handlers
            for kind in ("httpGet", "tcpSocket")
            if (host := mapping(mapping(handler).get(kind)).get("host"))
        }
        if hosts:
            bad.add(each.name)
            found |= hosts
    if not bad:
        return None
    use, what = "uses" if len(bad) == 1 else "use", count("probe or lifecycle host", found)
    return Forbidden("probe or lifecycle host", f"{named(sorted(bad))} {use} {what} {quoted(sorted(found))}")


def privileged(pod: Pod) -> Forbidden | None:
    bad = [each.name for each in pod.containers if each.context.get("privileged")]
    text = f"{named(bad)} must not set securityContext.privileged=true"
    return Forbidden("privileged", text) if bad else None


def proc_mount(pod: Pod) -> Forbidden | None:
    """Forbids unmasked /proc; from 1.35 on, pods with a user namespace of their own may have it."""
    return None if pod.minor >= 35 and pod.has_own_users else any_proc_mount(pod)


def any_proc_mount(pod: Pod) -> Forbidden | None:
    bad, found = [], set()
    for each in pod.containers:
        kind = each.context.get("procMount")
        if kind not in (None, "Default"):
            bad.append(each.name)
            found.add(str(kind))
    text = f"{named(bad)} must not set securityContext.procMount to {quoted(sorted(found))}"
    return Forbidden("procMount", text) if bad else None


def se_linux(pod: Pod) -> Forbidden | None:
    allowed = {each for since, more in _SELINUX_TYPES if pod.minor >= since for each in more}
    types: set[str] = set()
    others: set[str] = set()

    def is_bad(context: Mapping[str, Any]) -> bool:
        options = mapping(context.get("seLinuxOptions"))
        kind = str(options.get("type", ""))
        more = {name for name in ("user", "role") if options.get(name)}
        others.update(more)
        if kind not in allowed:
            types.add(kind)
        return kind not in allowed or bool(more)

    setters = pod.setters(is_bad)
    if not setters:
        return None
    found = [f"{count('type', types)} {quoted(sorted(types))}"] if types else []
    found += [f"{name} may not be set" for name in ("user", "role") if name in others]
    text = f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(found)}"
    return Forbidden("seLinuxOptions", text)


def seccomp(pod: Pod) -> Forbidden | None:
    if pod.minor < 19:
        return _seccomp_by_annotations(pod)
    setters, values = _profile_setters(pod, "seccompProfile")
    if not setters:
        return None
    text = f"{setters} must not set securityContext.seccompProfile.type to {quoted(sorted(values))}"
    return Forbidden("seccompProfile", text)


def _seccomp_by_annotations(pod: Pod) -> Forbidden | None:
    keys = [_SECCOMP_OF_POD, *(f"{_SECCOMP_OF_CONTAINER}{each.name}" for each in pod.containers)]
    values = {key: str(pod.annotations[key]) for key in keys if key in pod.annotations}
    found = sorted(
        f"{key}={field.quoted(value)}"
        for key, value in values.items()
        if value not in ("runtime/default", "docker/default") and not value.startswith("localhost/")
    )
    text = f"forbidden {count('annotation', found)} {', '.join(found)}"
    return Forbidden("seccompProfile", text) if found else None


def sysctls(pod: Pod) -> Forbidden | None:
    allowed = {each for since, more in _SYSCTLS if pod.minor >= since for each in more}
    names = [str(each.get("name", "")) for each in mappings(pod.context.get("sysctls"))]
    found = [name for name in names if name not in allowed]
    return Forbidden("forbidden sysctls", ", ".join(found)) if found else None


def host_process(pod: Pod) -> Forbidden | None:
    setters = pod.setters(lambda context: bool(mapping(context.get("windowsOptions")).get("hostProcess")))
    text = f"{setters} must not set securityContext.windowsOptions.hostProcess=true"
    return Forbidden("hostProcess", text) if setters else None
