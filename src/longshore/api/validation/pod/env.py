"""Environment variables and where their values come from; also the field selectors of volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api import field, identifiers, label_syntax, names
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation.pod import paths

_ENV_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS: Final = frozenset(
    (
        *_ENV_FIELDS,
        *VOLUME_FIELDS,
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.terminationGracePeriodSeconds",
        "status.phase",
    )
)
_RESOURCES: Final = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_BYTES: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISOR_NAMES: Final = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
_ONE_AT_A_TIME: Final = "may not have more than one field specified at a time"


def validate_env(variables: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    for i, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            found.append(field.required(f"{path}[{i}].name"))
        elif problems := identifiers.env_var_name(name):
            found += [field.invalid(f"{path}[{i}].name", name, text) for text in problems]
        if (source := variable.get("valueFrom")) is not None:
            _value_from(source, bool(variable.get("value")), f"{path}[{i}].valueFrom", found)


def _value_from(source: Obj, has_value: bool, path: str, found: list[FieldError]) -> None:
    count = 0
    if (ref := source.get("fieldRef")) is not None:
        count += 1
        validate_field_ref(ref, _ENV_FIELDS, f"{path}.fieldRef", found)
    if (ref := source.get("resourceFieldRef")) is not None:
        count += 1
        validate_resource_ref(ref, f"{path}.resourceFieldRef", found, in_volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if (ref := source.get(kind)) is not None:
            count += 1
            _key_ref(ref, f"{path}.{kind}", found)
    if (ref := source.get("fileKeyRef")) is not None:
        count += 1
        _file_ref(ref, f"{path}.fileKeyRef", found)
    if count == 0:
        text = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` "
            "or `fileKeyRef`"
        )
        found.append(field.invalid(path, "", text))
    elif has_value:
        found.append(field.invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        found.append(field.invalid(path, "", _ONE_AT_A_TIME))


def validate_field_ref(ref: Obj, allowed: Sequence[str], path: str, found: list[FieldError]) -> None:
    """Checks a `fieldRef`: a known field of the pod, or one label or annotation of it."""
    version, label = ref.get("apiVersion") or "", ref.get("fieldPath") or ""
    if not version:
        found.append(field.required(f"{path}.apiVersion"))
        return
    if not label:
        found.append(field.required(f"{path}.fieldPath"))
        return
    base, key = split_subscript(label)
    problem = _unreadable(version, label, base, key)
    if problem:
        text = f"error converting fieldPath: {problem}"
        found.append(field.invalid(f"{path}.fieldPath", label, text))
    elif key is not None:
        checked = key.lower() if base == "metadata.annotations" else key
        found += [field.invalid(path, checked, text) for text in label_syntax.qualified_name(checked)]
    else:
        base = "spec.nodeName" if base == "spec.host" else base
        found += field.one_of(f"{path}.fieldPath", base, allowed)


def split_subscript(label: str) -> tuple[str, str | None]:
    """`metadata.labels['a']` as (`metadata.labels`, `a`); None when there is no subscript."""
    if label.endswith("']"):
        base, bracket, key = label[:-2].partition("['")
        if bracket and base:
            return base, key
    return label, None


def _unreadable(version: str, label: str, base: str, key: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if key is not None:
        if base in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {label}"
    return "" if label in _KNOWN_FIELDS or label == "spec.host" else f"field label not supported: {label}"


def validate_resource_ref(ref: Obj, path: str, found: list[FieldError], *, in_volume: bool) -> None:
    """Checks a `resourceFieldRef`. In a volume it must name the container, as there is no current one."""
    resource = ref.get("resource") or ""
    if in_volume and not ref.get("containerName"):
        found.append(field.required(f"{path}.containerName"))
    elif not resource:
        found.append(field.required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        found.append(field.not_supported(f"{path}.resource", resource, _RESOURCES))
    divisor = ref.get("divisor") or "0"
    if divisor != "0":
        _divisor(resource, divisor, f"{path}.divisor", found)


def _divisor(resource: str, divisor: str, path: str, found: list[FieldError]) -> None:
    if resource in ("limits.cpu", "requests.cpu"):
        if divisor not in ("1m", "1"):
            text = "only divisor's values 1m and 1 are supported with the cpu resource"
            found.append(field.invalid(path, resource, text))
        return
    known = "hugepages" if resource.startswith(_HUGE_PAGES) else None
    if resource in _RESOURCES:
        known = _DIVISOR_NAMES[resource.partition(".")[2]]
    if known and divisor not in _BYTES:
        text = f"only divisor's values {', '.join(_BYTES)} are supported with the {known} resource"
        found.append(field.invalid(path, resource, text))


def _key_ref(ref: Obj, path: str, found: list[FieldError]) -> None:
    name, key = ref.get("name") or "", ref.get("key") or ""
    found += [field.invalid(f"{path}.name", name, text) for text in names.dns1123_subdomain(name)]
    found += field.named(f"{path}.key", key, identifiers.config_map_key)


def _file_ref(ref: Obj, path: str, found: list[FieldError]) -> None:
    key, volume, file = ref.get("key") or "", ref.get("volumeName") or "", ref.get("path") or ""
    found += field.named(f"{path}.key", key, identifiers.env_var_name)
    found += field.named(f"{path}.volumeName", volume, names.dns1123_label)
    if not file:
        found.append(field.required(f"{path}.path"))
    else:
        paths.no_backsteps(file, f"{path}.path", found)


def validate_env_from(sources: Sequence[Obj], path: str, found: list[FieldError]) -> None:
    for i, source in enumerate(sources):
        if prefix := source.get("prefix"):
            found += field.each(f"{path}[{i}].prefix", prefix, identifiers.env_var_name(prefix))
        count = 0
        for kind in ("configMapRef", "secretRef"):
            if (ref := source.get(kind)) is None:
                continue
            count += 1
            if not (name := ref.get("name")):
                found.append(field.required(f"{path}[{i}].{kind}.name"))
            else:
                # Upstream checks these two as prefixes of names, so a trailing dash passes.
                problems = names.name_is_subdomain(name, True)
                found += [field.invalid(f"{path}[{i}].{kind}.name", name, text) for text in problems]
        # The complaints about the number of sources are about the whole list, without an index.
        if count == 0:
            found.append(field.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif count > 1:
            found.append(field.invalid(path, "", _ONE_AT_A_TIME))


def validate_file_ref_volumes(
    spec: Obj, containers: Sequence[tuple[str, Obj]], found: list[FieldError]
) -> None:
    """Checks that a `fileKeyRef` reads from an emptyDir of this pod. `containers` are (path, container)."""
    for path, container in containers:
        for i, variable in enumerate(container.get("env") or ()):
            ref = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if ref is None:
                continue
            name = ref.get("volumeName") or ""
            where = f"{path}.env[{i}].valueFrom.fileKeyRef.volumeName"
            volume = next((v for v in spec.get("volumes") or () if v.get("name") == name), None)
            if volume is None:
                found.append(field.not_found(where, name))
            elif volume.get("emptyDir") is None:
                found.append(field.invalid(where, name, "referenced volume must be of type emptyDir"))
