"""The levels of Pod Security, and the policy that the labels of a namespace ask for. Pure.

`privileged`, `baseline` and `restricted` are Kubernetes' own. `isolated` is longshore's: `baseline`, and
isolation that is not weaker than the default. A namespace asks for the first three by
`pod-security.kubernetes.io/*`, for the last by `pod-security.longshore.dev/enforce`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from longshore.api import field
from longshore.api.facts import isolation_levels, own_names
from longshore.api.pod_security import baseline
from longshore.api.pod_security.reading import Forbidden, Pod, count, mapping, mappings, named, quoted, texts
from longshore.api.types import Obj

# ---- The checks of level `restricted`: pods follow the best practice of today.

_VOLUMES: Final = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
    "secret",
))  # fmt: skip
_OTHER_VOLUMES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd",
    "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk",
    "photonPersistentDisk", "portworxVolume", "scaleIO", "storageos",
)  # fmt: skip
_ADDABLE: Final = "NET_BIND_SERVICE"


def privilege_escalation(pod: Pod) -> Forbidden | None:
    if pod.minor < 8 or _is_exempt(pod):
        return None
    bad = [each.name for each in pod.containers if each.context.get("allowPrivilegeEscalation") is not False]
    text = f"{named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Forbidden("allowPrivilegeEscalation != false", text) if bad else None


def capabilities(pod: Pod) -> Forbidden | None:
    if pod.minor < 22 or _is_exempt(pod):
        return None
    keep, add, added = [], [], set()
    for each in pod.containers:
        asked = mapping(each.context.get("capabilities"))
        if "ALL" not in texts(asked.get("drop")):
            keep.append(each.name)
        more = set(texts(asked.get("add"))) - {_ADDABLE}
        if more:
            add.append(each.name)
            added |= more
    found = [f'{named(keep)} must set securityContext.capabilities.drop=["ALL"]'] if keep else []
    if add:
        what = f"must not include {quoted(sorted(added))} in securityContext.capabilities.add"
        found.append(f"{named(add)} {what}")
    return Forbidden("unrestricted capabilities", "; ".join(found)) if found else None


def volumes(pod: Pod) -> Forbidden | None:
    bad, kinds = [], set()
    for volume in mappings(pod.spec.get("volumes")):
        if not _VOLUMES.isdisjoint(volume):
            continue
        bad.append(str(volume.get("name", "")))
        kinds.add(next((kind for kind in _OTHER_VOLUMES if kind in volume), "unknown"))
    if not bad:
        return None
    use, what = "uses" if len(bad) == 1 else "use", count("restricted volume type", kinds)
    return Forbidden(
        "restricted volume types", f"{named(bad, 'volume')} {use} {what} {quoted(sorted(kinds))}"
    )


def non_root(pod: Pod) -> Forbidden | None:
    if pod.minor >= 35 and pod.has_own_users:
        return None
    setters = pod.setters(lambda context: context.get("runAsNonRoot") is False)
    if setters:
        text = f"{setters} must not set securityContext.runAsNonRoot=false"
        return Forbidden("runAsNonRoot != true", text)
    if pod.context.get("runAsNonRoot"):
        return None
    bad = [each.name for each in pod.containers if each.context.get("runAsNonRoot") is None]
    text = f"pod or {named(bad)} must set securityContext.runAsNonRoot=true"
    return Forbidden("runAsNonRoot != true", text) if bad else None


def user(pod: Pod) -> Forbidden | None:
    if pod.minor < 23 or (pod.minor >= 35 and pod.has_own_users):
        return None
    setters = pod.setters(lambda context: context.get("runAsUser") == 0)
    return Forbidden("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def seccomp(pod: Pod) -> Forbidden | None:
    if pod.minor < 19 or _is_exempt(pod):
        return None
    if (found := baseline.seccomp(pod)) is not None:
        return found
    if pod.context.get("seccompProfile") is not None:
        return None
    bad = [each.name for each in pod.containers if each.context.get("seccompProfile") is None]
    text = (
        f'pod or {named(bad)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    )
    return Forbidden("seccompProfile", text) if bad else None


def _is_exempt(pod: Pod) -> bool:
    """Whether the check does not apply to this pod: a Windows pod, from version 1.25 on."""
    return pod.minor >= 25 and pod.is_of_windows


PREFIX: Final = "pod-security.kubernetes.io/"
PRIVILEGED, BASELINE, RESTRICTED, ISOLATED = "privileged", "baseline", "restricted", "isolated"
_LEVELS: Final = (PRIVILEGED, BASELINE, RESTRICTED)
"""Kubernetes' levels, the weakest first."""
_LATEST: Final = "latest"
_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)")
_NEWEST_MINOR: Final = 35
"""The last minor version in which a check changed."""
_CAPABILITIES: Final = baseline.CAPABILITIES - {"MKNOD"}
"""MKNOD gives access to disks here, since longshore has no device cgroup."""

_Check = Callable[[Pod], Forbidden | None]
_BASELINE: Final[tuple[_Check, ...]] = (
    baseline.app_armor,
    baseline.capabilities,
    baseline.host_namespaces,
    baseline.host_paths,
    baseline.host_ports,
    baseline.probe_hosts,
    baseline.privileged,
    baseline.proc_mount,
    baseline.se_linux,
    baseline.seccomp,
    baseline.sysctls,
    baseline.host_process,
)
"""The checks of `baseline`, in the order of upstream's names. `_RESTRICTED` has the same order."""
_RESTRICTED: Final[tuple[tuple[_Check, _Check | None, int], ...]] = (
    (privilege_escalation, None, 0),
    (capabilities, baseline.capabilities, 22),
    (baseline.any_proc_mount, baseline.proc_mount, 35),
    (volumes, baseline.host_paths, 0),
    (non_root, None, 0),
    (user, None, 0),
    (seccomp, baseline.seccomp, 19),
)
"""Each check of `restricted`, the check of `baseline` that it replaces, and its first minor version."""


class Level(NamedTuple):
    """A level in one version of the standards."""

    name: str = PRIVILEGED
    version: str = _LATEST

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"

    @property
    def strictness(self) -> int:
        return _LEVELS.index(self.name)

    @property
    def minor(self) -> int:
        asked = _NEWEST_MINOR if self.version == _LATEST else int(self.version.removeprefix("v1."))
        return min(asked, _NEWEST_MINOR)


class Policy(NamedTuple):
    """The levels of a namespace. Violations of `audit` are for an audit log, which longshore lacks."""

    enforce: Level = Level()
    audit: Level = Level()
    warn: Level = Level()


def policy(labels: Mapping[str, str]) -> tuple[Policy, list[field.FieldError]]:
    """The policy of a namespace with these labels, and the problems of the labels. An unreadable level is
    enforced as `restricted`, and not warned of."""
    problems: list[field.FieldError] = []
    found = {mode: _level(labels, mode, problems) for mode in Policy._fields}
    enforce, warn = found["enforce"], found["warn"]
    has_warn_level = f"{PREFIX}warn" in labels
    if not has_warn_level and enforce.strictness > warn.strictness:
        version = warn.version if f"{PREFIX}warn-version" in labels else enforce.version
        found["warn"] = Level(enforce.name, version)
    return Policy(**found), problems


def _level(labels: Mapping[str, str], mode: str, problems: list[field.FieldError]) -> Level:
    level, version = labels.get(f"{PREFIX}{mode}"), labels.get(f"{PREFIX}{mode}-version")
    if level is not None and level not in _LEVELS:
        problems.append(_invalid(f"{PREFIX}{mode}", level, f"must be one of {', '.join(_LEVELS)}"))
        level = RESTRICTED if mode == "enforce" else PRIVILEGED
    if version not in (None, _LATEST) and not _VERSION.fullmatch(version or ""):
        problems.append(_invalid(f"{PREFIX}{mode}-version", version or "", 'must be "latest" or "v1.x"'))
        version = _LATEST
    return Level(level or PRIVILEGED, version or _LATEST)


def own_problems(labels: Mapping[str, str]) -> list[field.FieldError]:
    """The problems of longshore's own label."""
    value = labels.get(own_names.POD_SECURITY)
    if value in (None, PRIVILEGED, ISOLATED):
        return []
    return [_invalid(own_names.POD_SECURITY, str(value), f"must be one of {PRIVILEGED}, {ISOLATED}")]


def _invalid(label: str, value: str, text: str) -> field.FieldError:
    return field.invalid(f"metadata.labels[{label}]", value, text)


def violations(level: Level, pod: Obj) -> list[Forbidden]:
    """The settings of a pod or pod template that a level forbids."""
    if level.name == PRIVILEGED:
        return []
    read = Pod(pod, level.minor)
    checks = list(_BASELINE)
    if level.name == RESTRICTED:
        for check, replaced, since in _RESTRICTED:
            if read.minor >= since:
                checks.append(check)
                if replaced is not None:
                    checks.remove(replaced)
    return [found for check in checks if (found := check(read)) is not None]


def isolation_violations(pod: Obj, usual: str) -> list[Forbidden]:
    """The settings of a pod that the level `isolated` forbids. `usual` is the default isolation of pods."""
    found = violations(Level(BASELINE), pod)
    if (more := baseline.capabilities(Pod(pod, _NEWEST_MINOR), _CAPABILITIES)) is not None:
        found = [each for each in found if each.reason != more.reason] + [more]
    asked = mapping(mapping(pod.get("metadata")).get("annotations")).get(own_names.ISOLATION)
    if asked in isolation_levels.LEVELS and isolation_levels.weaker(asked, usual) != usual:
        text = f'annotation {own_names.ISOLATION} must not be "{asked}", which is weaker than "{usual}"'
        found.append(Forbidden("isolation", text))
    return found


def listed(found: list[Forbidden]) -> str:
    return ", ".join(map(str, found))


def labels_of(namespace: Mapping[str, Any] | None) -> Mapping[str, str]:
    return mapping(mapping((namespace or {}).get("metadata")).get("labels"))


def is_plain(labels: Mapping[str, str]) -> bool:
    """Whether a namespace with these labels asks for no level at all."""
    return not any(key == own_names.POD_SECURITY or key.startswith(PREFIX) for key in labels)
