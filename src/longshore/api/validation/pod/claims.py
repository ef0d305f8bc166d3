"""The claim inside an ephemeral volume: its metadata (labels and annotations only) and its spec.

`validate_claim_spec` is the rule for any PersistentVolumeClaim.
"""

from __future__ import annotations

from typing import Final

from longshore.api import field, names, quantity
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import metadata

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_META_ORDER: Final = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def validate_claim_template_meta(meta: Obj, path: str, found: list[FieldError]) -> None:
    if annotations := meta.get("annotations"):
        found += metadata.validate_annotations(annotations, f"{path}.annotations")
    if labels := meta.get("labels"):
        found += metadata.validate_labels(labels, f"{path}.labels")
    found += [field.forbidden(f"{path}.{key}", "cannot be set") for key in _META_ORDER if meta.get(key)]


def validate_claim_spec(spec: Obj, path: str, found: list[FieldError]) -> None:
    modes = spec.get("accessModes") or []
    if not modes:
        found.append(field.required(f"{path}.accessModes", "at least 1 access mode is required"))
    if (selector := spec.get("selector")) is not None:
        found += metadata.validate_label_selector(selector, f"{path}.selector")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            found.append(field.not_supported(f"{path}.accessModes", mode, _ACCESS_MODES))
    if "ReadWriteOncePod" in modes and any(m in _ACCESS_MODES[:3] for m in modes):
        text = "may not use ReadWriteOncePod with other access modes"
        found.append(field.forbidden(f"{path}.accessModes", text))
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        found.append(field.required(f"{path}.resources[storage]"))
    elif size.startswith("-") or quantity.is_zero(size):
        found.append(field.invalid(f"{path}.resources[storage]", size, "must be greater than zero"))
    if name := spec.get("storageClassName"):
        found += [field.invalid(f"{path}.storageClassName", name, t) for t in names.dns1123_subdomain(name)]
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        found.append(field.not_supported(f"{path}.volumeMode", mode, _VOLUME_MODES))
    _sources(spec, path, found)
    if name := spec.get("volumeAttributesClassName"):
        problems = names.dns1123_subdomain(name)
        found += [field.invalid(f"{path}.volumeAttributesClassName", name, text) for text in problems]


def _sources(spec: Obj, path: str, found: list[FieldError]) -> None:
    """Where the data of a new volume comes from: the old field, the new one, or both agreeing."""
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        _source(source, f"{path}.dataSource", found)
    if ref is not None:
        _source(ref, f"{path}.dataSourceRef", found)
        if space := ref.get("namespace"):
            where = f"{path}.dataSourceRef.namespace"
            found += [field.invalid(where, space, text) for text in names.dns1123_label(space)]
    if source is None or ref is None:
        return
    if ref.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        found.append(field.invalid(path, f"{path}.dataSource", text))
    elif any(source.get(key) != ref.get(key) for key in ("apiGroup", "kind", "name")):
        found.append(field.invalid(path, f"{path}.dataSource", "must match dataSourceRef"))


def _source(source: Obj, path: str, found: list[FieldError]) -> None:
    kind, group = source.get("kind") or "", source.get("apiGroup") or ""
    if not source.get("name"):
        found.append(field.required(f"{path}.name"))
    if not kind:
        found.append(field.required(f"{path}.kind"))
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        found.append(field.invalid(path, kind, text))
    if group:
        found += [field.invalid(f"{path}.apiGroup", group, t) for t in names.dns1123_subdomain(group)]
