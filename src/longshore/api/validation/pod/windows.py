"""Checks that depend on the pod's operating system, and checks of Windows' own options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from longshore.api import field, names
from longshore.api.field import FieldError
from longshore.api.types import Obj

_SYSTEMS: Final = ("linux", "windows")
_NOT_ON_WINDOWS: Final = "cannot be set for a windows pod"
_POD_FIELDS: Final = (
    ("securityContext", "appArmorProfile"),
    ("securityContext", "seLinuxOptions"),
    ("", "hostUsers"),
    ("", "hostPID"),
    ("", "hostIPC"),
    ("securityContext", "seccompProfile"),
    ("securityContext", "fsGroup"),
    ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"),
    ("", "shareProcessNamespace"),
    ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"),
    ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"),
    ("securityContext", "seLinuxChangePolicy"),
)
_CONTAINER_FIELDS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)
_MAX_SPEC_KIB: Final = 64
_MAX_DOMAIN_CHARACTERS: Final = 256
_MAX_USER_CHARACTERS: Final = 104
_has_control: Final = re.compile(r"[\x00-\x1f\x7f]").search
_is_netbios: Final = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}""").fullmatch
_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_is_domain: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*").fullmatch
_has_bad_char: Final = re.compile(r"""["/\\:;|=,+*?<>@\[\]]""").search
_is_dots_and_spaces: Final = re.compile("[. ]+").fullmatch

Containers = Sequence[tuple[str, Obj]]
"""(path, container) of every container of the pod."""


def validate_system(spec: Obj, containers: Containers, path: str, found: list[FieldError]) -> None:
    """Checks `spec.os` and the fields that make no sense on it."""
    name = spec["os"].get("name") or ""
    if not name:
        found.append(field.required(f"{path}.os.name"))
    elif name not in _SYSTEMS:
        found.append(field.not_supported(f"{path}.os", name, _SYSTEMS))
    elif name == "linux":
        _linux(spec, containers, path, found)
    else:
        _windows(spec, containers, path, found)


def _linux(spec: Obj, containers: Containers, path: str, found: list[FieldError]) -> None:
    text = "windows options cannot be set for a linux pod"
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        found.append(field.forbidden(f"{path}.securityContext.windowsOptions", text))
    for where, container in containers:
        if (container.get("securityContext") or {}).get("windowsOptions") is not None:
            found.append(field.forbidden(f"{where}.securityContext.windowsOptions", text))


def _windows(spec: Obj, containers: Containers, path: str, found: list[FieldError]) -> None:
    context = spec.get("securityContext") or {}
    for part, key in _POD_FIELDS:
        holder, where = (context, f"{path}.{part}.{key}") if part else (spec, f"{path}.{key}")
        value = holder.get(key)
        # hostPID and hostIPC are plain flags, sysctls a plain list: unset and empty are the same there.
        if value or (value is not None and key not in ("hostPID", "hostIPC", "sysctls")):
            found.append(field.forbidden(where, _NOT_ON_WINDOWS))
    for at, container in containers:
        own = container.get("securityContext") or {}
        for key in _CONTAINER_FIELDS:
            if own.get(key) is not None:
                found.append(field.forbidden(f"{at}.securityContext.{key}", _NOT_ON_WINDOWS))


def validate_host_process(spec: Obj, containers: Containers, path: str, found: list[FieldError]) -> None:
    """Checks host process containers: all or none of a pod, and only on the host's network."""
    pod = _host_process(spec)
    hosting = 0
    for at, container in containers:
        own = _host_process(container)
        if pod is not None and own is not None and pod != own:
            text = f"pod hostProcess value must be identical if both are specified, was {str(pod).lower()}"
            where = f"{at}.securityContext.windowsOptions.hostProcess"
            found.append(field.invalid(where, own, text))
        if own or (own is None and pod):
            hosting += 1
    if not hosting:
        return
    if hosting != len(containers):
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        found.append(field.invalid(path, "", text))
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        found.append(field.invalid(f"{path}.hostNetwork", False, text))


def _host_process(holder: Obj) -> bool | None:
    value: bool | None = ((holder.get("securityContext") or {}).get("windowsOptions") or {}).get(
        "hostProcess"
    )
    return value


def validate_options(options: Obj, path: str, found: list[FieldError]) -> None:
    """Checks `windowsOptions` of a pod or container."""
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        where = f"{path}.gmsaCredentialSpecName"
        found += [field.invalid(where, name, text) for text in names.dns1123_subdomain(name)]
    if (spec := options.get("gmsaCredentialSpec")) is not None:
        where = f"{path}.gmsaCredentialSpec"
        if not spec:
            found.append(field.invalid(where, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif len(spec) > _MAX_SPEC_KIB * 1024:
            text = f"gmsaCredentialSpec size must be under {_MAX_SPEC_KIB} KiB"
            found.append(field.invalid(where, spec, text))
    if (user := options.get("runAsUserName")) is not None:
        found += [field.invalid(f"{path}.runAsUserName", user, f"runAsUserName{t}") for t in _user(user)]


def _user(value: str) -> list[str]:
    """Problems with `DOMAIN\\user`, each to be appended to the word runAsUserName."""
    if not value:
        return [" cannot be an empty string"]
    if _has_control(value):
        return [" cannot contain control characters"]
    if value.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, backslash, user = value.rpartition("\\")
    problems = []
    if len(domain) >= _MAX_DOMAIN_CHARACTERS:
        problems.append(f"'s Domain length must be under {_MAX_DOMAIN_CHARACTERS} characters")
    if backslash and not (_is_netbios(domain) or _is_domain(domain)):
        problems.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("'s User cannot be empty")
    elif len(user) > _MAX_USER_CHARACTERS:
        problems.append(f"'s User length must not be longer than {_MAX_USER_CHARACTERS} characters")
    if _is_dots_and_spaces(user):
        problems.append("'s User cannot contain only periods or spaces")
    if _has_bad_char(user):
        problems.append("""'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]""")
    return problems
