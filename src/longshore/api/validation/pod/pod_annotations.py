"""Annotations of pods that Kubernetes itself reads: old forms of fields, and marks of mirror pods."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from longshore.api import field, indexes
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation.pod import containers, paths, scheduling

MIRROR: Final = "kubernetes.io/config.mirror"
SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_LOCALHOST: Final = "localhost/"
_SECCOMP_VALUES: Final = ("runtime/default", "docker/default", "unconfined")
_APPARMOR_VALUES: Final = ("", "runtime/default", "unconfined")

Annotations = Mapping[str, str]


def validate_annotations(annotations: Annotations, spec: Obj, path: str, found: list[FieldError]) -> None:
    """Checks the annotations that Kubernetes reads; `path` is that of the annotations."""
    if MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        found.append(field.invalid(f"{path}[{MIRROR}]", annotations[MIRROR], text))
    if tolerations := annotations.get(_TOLERATIONS):
        _tolerations(tolerations, path, found)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        found.append(field.invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer"))
    if SECCOMP_POD in annotations:
        _seccomp(annotations[SECCOMP_POD], f"{path}.{SECCOMP_POD}", found)
    for key, value in annotations.items():
        if key.startswith(SECCOMP_CONTAINER):
            _seccomp(value, f"{path}.{key}", found)
    for key, value in annotations.items():
        if key.startswith(APPARMOR):
            _app_armor(key, value, spec, path, found)


def _tolerations(text: str, path: str, found: list[FieldError]) -> None:
    try:
        tolerations = json.loads(text)
    except ValueError as err:
        found.append(field.invalid(path, _TOLERATIONS, str(err)))
        return
    if isinstance(tolerations, list) and all(isinstance(t, dict) for t in tolerations):
        scheduling.validate_tolerations(tolerations, f"{path}.{_TOLERATIONS}", found)
    else:
        found.append(field.invalid(path, _TOLERATIONS, "must be a list of tolerations"))


def _is_int32(text: str) -> bool:
    """Whether a text is a 32-bit number without plus sign and leading zeros."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or (text[0] == "0" and text != "0"):
        return False
    number = indexes.integer(text)
    return number is not None and -(2**31) <= number < 2**31


def _seccomp(value: str, path: str, found: list[FieldError]) -> None:
    if value.startswith(_LOCALHOST):
        paths.descending(value.removeprefix(_LOCALHOST), path, found)
    elif value not in _SECCOMP_VALUES:
        found.append(field.invalid(path, value, "must be a valid seccomp profile"))


def _app_armor(key: str, value: str, spec: Obj, path: str, found: list[FieldError]) -> None:
    name = key.removeprefix(APPARMOR)
    if not any(c.get("name") == name for _, c in containers.each(spec, "")):
        found.append(field.invalid(f"{path}[{key}]", name, "container not found"))
    if value not in _APPARMOR_VALUES and not value.startswith(_LOCALHOST):
        text = f"invalid AppArmor profile name: {field.quoted(value)}"
        found.append(field.invalid(f"{path}[{key}]", value, text))


def validate_annotation_changes(
    new: Annotations, old: Annotations, path: str, found: list[FieldError]
) -> None:
    """Refuses changes to annotations fixed at the pod's creation: AppArmor profiles and the mirror mark."""
    for key, value in old.items():
        if new.get(key) != value:
            _fixed(key, "remove or update", path, found)
    for key in new:
        if key not in old:
            _fixed(key, "add", path, found)


def _fixed(key: str, verb: str, path: str, found: list[FieldError]) -> None:
    if key.startswith(APPARMOR):
        found.append(field.forbidden(f"{path}[{key}]", f"may not {verb} AppArmor annotations"))
    if key == MIRROR:
        found.append(field.forbidden(f"{path}[{key}]", f"may not {verb} mirror pod annotation"))


def validate_agreement(annotations: Annotations, spec: Obj, path: str, found: list[FieldError]) -> None:
    """Checks that the old annotation and the field agree if both are given. `path` is the spec's."""
    pod = spec.get("securityContext") or {}
    seccomp = pod.get("seccompProfile")
    if seccomp is not None and SECCOMP_POD in annotations:
        where = f"{path}.securityContext.seccompProfile"
        _same("seccomp", annotations[SECCOMP_POD], seccomp, where, found)
    for at, container in containers.each(spec, path):
        seccomp = (container.get("securityContext") or {}).get("seccompProfile")
        key = SECCOMP_CONTAINER + (container.get("name") or "")
        if seccomp is not None and key in annotations:
            _same("seccomp", annotations[key], seccomp, f"{at}.securityContext.seccompProfile", found)
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for at, container in containers.each(spec, path):
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = pod.get("appArmorProfile") if own is None else own
        key = APPARMOR + (container.get("name") or "")
        if profile is not None and key in annotations:
            _same("apparmor", annotations[key], profile, f"{at}.securityContext.appArmorProfile", found)


def _same(what: str, annotation: str, profile: Obj, path: str, found: list[FieldError]) -> None:
    kind = profile.get("type")
    if kind == "Localhost" and annotation.startswith(_LOCALHOST):
        if annotation.removeprefix(_LOCALHOST) != profile.get("localhostProfile"):
            text = f"{what} profile in annotation and field must match"
            found.append(field.forbidden(f"{path}.localhostProfile", text))
        return
    allowed = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",), "Localhost": ()}
    if what == "seccomp" and kind == "RuntimeDefault":
        allowed["RuntimeDefault"] = ("runtime/default", "docker/default")
    if kind in allowed and annotation not in allowed[kind]:
        found.append(field.forbidden(f"{path}.type", f"{what} type in annotation and field must match"))
