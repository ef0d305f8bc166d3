"""Security contexts of pods and containers: users, groups, profiles, sysctls."""

from __future__ import annotations

import re
from typing import Final

from longshore.api import field
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import internal
from longshore.api.validation.pod import paths, windows

_MAX_ID: Final = 2147483647
_ID_TEXT: Final = f"must be between 0 and {_MAX_ID}, inclusive"
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_FS_GROUP: Final = ("Always", "OnRootMismatch")
_GROUPS_POLICY: Final = ("Merge", "Strict")
_SELINUX: Final = ("MountOption", "Recursive")
_MAX_APPARMOR_CHARACTERS: Final = 4095
_MAX_SYSCTL_CHARACTERS: Final = 253
_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_is_sysctl: Final = re.compile(_SYSCTL[1:-1]).fullmatch
_IPC_SYSCTLS: Final = ("kernel.shm", "kernel.msg", "fs.mqueue.")


def _id(value: int | None, path: str, found: list[FieldError]) -> None:
    if value is not None and not 0 <= value <= _MAX_ID:
        found.append(field.invalid(path, value, _ID_TEXT))


def validate_pod(spec: Obj, path: str, found: list[FieldError]) -> None:
    """Checks the pod's security context, which is at `path`."""
    context = spec["securityContext"]
    _id(context.get("fsGroup"), f"{path}.fsGroup", found)
    _id(context.get("runAsUser"), f"{path}.runAsUser", found)
    _id(context.get("runAsGroup"), f"{path}.runAsGroup", found)
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        _id(group, f"{path}.supplementalGroups[{i}]", found)
    validate_shared_processes(spec, path, found)
    if sysctls := context.get("sysctls"):
        _sysctls(sysctls, spec, f"{path}.sysctls", found)
    found += field.unsupported(context, "fsGroupChangePolicy", path, _FS_GROUP)
    _profiles(context, path, found)
    found += field.unsupported(context, "supplementalGroupsPolicy", path, _GROUPS_POLICY)
    found += field.unsupported(context, "seLinuxChangePolicy", path, _SELINUX)


def validate_shared_processes(spec: Obj, path: str, found: list[FieldError]) -> None:
    """Checks the process namespace: a rule that also holds if the security context is empty."""
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(field.invalid(f"{path}.shareProcessNamespace", True, text))


def _profiles(context: Obj, path: str, found: list[FieldError]) -> None:
    if (profile := context.get("seccompProfile")) is not None:
        _seccomp(profile, f"{path}.seccompProfile", found)
    if (options := context.get("windowsOptions")) is not None:
        windows.validate_options(options, f"{path}.windowsOptions", found)
    if (profile := context.get("appArmorProfile")) is not None:
        _app_armor(profile, f"{path}.appArmorProfile", found)


def validate_container(context: Obj, path: str, found: list[FieldError], *, host_users: bool) -> None:
    _id(context.get("runAsUser"), f"{path}.runAsUser", found)
    _id(context.get("runAsGroup"), f"{path}.runAsGroup", found)
    mount = context.get("procMount")
    found += field.unsupported(context, "procMount", path, _PROC_MOUNTS)
    if host_users and mount == "Unmasked":
        text = "`hostUsers` must be false to use `Unmasked`"
        found.append(field.invalid(f"{path}.procMount", mount, text))
    if (profile := context.get("seccompProfile")) is not None:
        _seccomp(profile, f"{path}.seccompProfile", found)
    if context.get("allowPrivilegeEscalation") is False:
        cannot = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            found.append(field.invalid(path, internal.go_shaped(context), f"{cannot} `privileged` to true"))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            text = f"{cannot} `capabilities.Add` CAP_SYS_ADMIN"
            found.append(field.invalid(path, internal.go_shaped(context), text))
    if (options := context.get("windowsOptions")) is not None:
        windows.validate_options(options, f"{path}.windowsOptions", found)
    if (profile := context.get("appArmorProfile")) is not None:
        _app_armor(profile, f"{path}.appArmorProfile", found)


def _seccomp(profile: Obj, path: str, found: list[FieldError]) -> None:
    kind, file = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        found.append(field.required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILES:
        found.append(field.not_supported(f"{path}.type", kind, _PROFILES))
    if kind == "Localhost":
        if file is None:
            text = "must be set when seccomp type is Localhost"
            found.append(field.required(f"{path}.localhostProfile", text))
        else:
            paths.descending(file, f"{path}.localhostProfile", found)
    elif file is not None:
        text = "can only be set when seccomp type is Localhost"
        found.append(field.invalid(f"{path}.localhostProfile", internal.go_shaped(profile), text))


def _app_armor(profile: Obj, path: str, found: list[FieldError]) -> None:
    kind, file = profile.get("type") or "", profile.get("localhostProfile")
    where = f"{path}.localhostProfile"
    if kind == "Localhost":
        if file is None or file == "":
            found.append(field.required(where, "must be set when AppArmor type is Localhost"))
            return
        if file.strip() != file:
            found.append(field.invalid(where, file, "must not be padded with whitespace"))
        if len(file) > _MAX_APPARMOR_CHARACTERS:
            found.append(field.too_long(where, _MAX_APPARMOR_CHARACTERS))
    elif kind in _PROFILES:
        if file is not None:
            found.append(field.invalid(where, file, "can only be set when AppArmor type is Localhost"))
    elif kind:
        found.append(field.not_supported(f"{path}.type", kind, _PROFILES))
    else:
        found.append(field.required(f"{path}.type", "type is required when appArmorProfile is set"))


def _sysctls(sysctls: list[Obj], spec: Obj, path: str, found: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        name, where = sysctl.get("name") or "", f"{path}[{i}].name"
        if not name:
            found.append(field.required(where))
        elif len(name) > _MAX_SYSCTL_CHARACTERS or not _is_sysctl(name):
            text = f"must have at most {_MAX_SYSCTL_CHARACTERS} characters and match regex {_SYSCTL}"
            found.append(field.invalid(where, name, text))
        elif name in seen:
            found.append(field.duplicate(where, name))
        seen.add(name)
        dotted = _dotted(name)
        if spec.get("hostNetwork") and dotted.startswith("net."):
            found.append(field.invalid(where, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and (dotted.startswith(_IPC_SYSCTLS) or dotted == "kernel.sem"):
            found.append(field.invalid(where, name, "may not be specified when 'hostIPC' is true"))


def _dotted(name: str) -> str:
    """`net/ipv4/ip.x` as `net.ipv4.ip/x`: the first separator of a name decides which one it uses."""
    first = next((ch for ch in name if ch in "./"), ".")
    return name.translate(_SWAP) if first == "/" else name


_SWAP: Final = str.maketrans("./", "/.")
