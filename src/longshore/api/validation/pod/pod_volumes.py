"""The volumes of a pod: unique names, one source each, and the rules of each source.

Order matters: sources are checked in Kubernetes' order, and all after the first are refused. Sources that
need more than a line or two have files of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.api import field, names, quantity
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import cloud_volumes, paths, projected

Check = Callable[[Obj, str, list[FieldError]], None]

_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)


def validate_volumes(
    volumes: list[Obj], path: str, found: list[FieldError], *, pod_name: str = ""
) -> dict[str, Obj]:
    """Returns the valid volumes by name; mounts of invalid ones are reported as not found, as upstream does.

    `pod_name` is the real pod's, empty for templates: claims made for ephemeral volumes carry it.
    """
    valid: dict[str, Obj] = {}
    created = {
        f"{pod_name}-{v.get('name') or ''}" for v in volumes if pod_name and v.get("ephemeral") is not None
    }
    for i, volume in enumerate(volumes):
        here = f"{path}[{i}]"
        own: list[FieldError] = []
        name = volume.get("name") or ""
        _source(volume, name, here, own, pod_name)
        if not name:
            own.append(field.required(f"{here}.name"))
        elif problems := names.dns1123_label(name):
            own += [field.invalid(f"{here}.name", name, text) for text in problems]
        if name in valid:
            own.append(field.duplicate(f"{here}.name", name))
        if own:
            found += own
        else:
            valid[name] = volume
        if created and (claim := volume.get("persistentVolumeClaim")) is not None:
            claim_name = claim.get("claimName") or ""
            if claim_name in created:
                text = "must not reference a PVC that gets created for an ephemeral volume"
                found.append(field.invalid(f"{here}.persistentVolumeClaim.claimName", claim_name, text))
    return valid


def _source(volume: Obj, name: str, path: str, found: list[FieldError], pod_name: str) -> None:
    given = [kind for kind in volume if kind in _CHECKS and volume[kind] is not None]
    if not given:
        found.append(field.required(path, "must specify a volume type"))
        return
    if len(given) > 1:
        given.sort(key=_ORDER.__getitem__)
    first = given[0]
    _CHECKS[first](volume[first], f"{path}.{_SPELLING.get(first, first)}", found)
    for kind in given[1:]:
        where = _EXTRA_SPELLING.get(kind, kind)
        found.append(field.forbidden(f"{path}.{where}", "may not specify more than 1 volume type"))
    if (iscsi := volume.get("iscsi")) is not None and iscsi.get("initiatorName") is not None:
        cloud_volumes.validate_initiator_length(iscsi, name, path, found)
    if first == "ephemeral" and pod_name and name:
        claim = f"{pod_name}-{name}"
        for text in names.dns1123_subdomain(claim):
            found.append(field.invalid(f"{path}.name", name, f"PVC name {field.quoted(claim)}: {text}"))


def _empty_dir(source: Obj, path: str, found: list[FieldError]) -> None:
    limit = source.get("sizeLimit")
    if limit is not None and limit.startswith("-"):
        text = "SizeLimit field must be a valid resource quantity"
        found.append(field.forbidden(f"{path}.sizeLimit", text))


def _host_path(source: Obj, path: str, found: list[FieldError]) -> None:
    where = source.get("path") or ""
    if not where:
        found.append(field.required(f"{path}.path"))
        return
    paths.no_backsteps(where, f"{path}.path", found)
    found += field.unsupported(source, "type", path, _HOST_PATH_TYPES)


def _git_repo(source: Obj, path: str, found: list[FieldError]) -> None:
    found += field.missing(source, path, "repository")
    paths.descending(source.get("directory") or "", f"{path}.directory", found)


def _files_of(key: str) -> Check:
    """The check of a secret or config map whose name is under this key."""

    def check(source: Obj, path: str, found: list[FieldError]) -> None:
        found += field.missing(source, path, key)
        projected.validate_items(source, path, found)

    return check


def _nfs(source: Obj, path: str, found: list[FieldError]) -> None:
    found += field.missing(source, path, "server", "path")
    where = source.get("path") or ""
    if not where.startswith("/"):
        found.append(field.invalid(f"{path}.path", where, "must be an absolute path"))


def _csi(source: Obj, path: str, found: list[FieldError]) -> None:
    driver = source.get("driver") or ""
    if not driver:
        found.append(field.required(f"{path}.driver"))
    else:
        if len(driver) > 63:
            found.append(field.too_long(f"{path}.driver", 63))
        found += [field.invalid(f"{path}.driver", driver, t) for t in names.dns1123_subdomain(driver.lower())]
    secret = source.get("nodePublishSecretRef")
    if secret is not None:
        if not (name := secret.get("name")):
            found.append(field.required(f"{path}.nodePublishSecretRef.name"))
        else:
            found += [field.invalid(f"{path}.name", name, text) for text in names.dns1123_subdomain(name)]


def _ephemeral(source: Obj, path: str, found: list[FieldError]) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        found.append(field.required(f"{path}.volumeClaimTemplate"))
        return
    validate_claim_template_meta(
        template.get("metadata") or {}, f"{path}.volumeClaimTemplate.metadata", found
    )
    validate_claim_spec(template.get("spec") or {}, f"{path}.volumeClaimTemplate.spec", found)


def _image(source: Obj, path: str, found: list[FieldError]) -> None:
    found += field.missing(source, path, "reference")
    found += field.chosen(f"{path}.pullPolicy", source.get("pullPolicy") or "", PULL_POLICIES)


PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")

_CHECKS: Final[dict[str, Check]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": cloud_volumes.disk("pdName"),
    "awsElasticBlockStore": cloud_volumes.disk("volumeID"),
    "secret": _files_of("secretName"),
    "nfs": _nfs,
    "iscsi": cloud_volumes.iscsi,
    "glusterfs": cloud_volumes.needs("endpoints", "path"),
    "flocker": cloud_volumes.flocker,
    "persistentVolumeClaim": cloud_volumes.needs("claimName"),
    "rbd": cloud_volumes.needs("monitors", "image"),
    "cinder": cloud_volumes.cinder,
    "cephfs": cloud_volumes.needs("monitors"),
    "quobyte": cloud_volumes.quobyte,
    "downwardAPI": projected.validate_downward,
    "fc": cloud_volumes.fibre_channel,
    "flexVolume": cloud_volumes.flex,
    "configMap": _files_of("name"),
    "azureFile": cloud_volumes.needs("secretName", "shareName"),
    "vsphereVolume": cloud_volumes.needs("volumePath"),
    "photonPersistentDisk": cloud_volumes.needs("pdID"),
    "portworxVolume": cloud_volumes.needs("volumeID"),
    "azureDisk": cloud_volumes.azure_disk,
    "storageos": cloud_volumes.storage_os,
    "projected": projected.validate_projected,
    "scaleIO": cloud_volumes.needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
"""By JSON name, in the order in which Kubernetes checks them."""

_ORDER: Final = {kind: i for i, kind in enumerate(_CHECKS)}
# Upstream spells these differently in its messages.
_SPELLING: Final = {"gcePersistentDisk": "persistentDisk"}
_EXTRA_SPELLING: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


# ---- The claim inside an ephemeral volume: its metadata (labels and annotations only) and its spec.
#
# `validate_claim_spec` is the rule for any PersistentVolumeClaim.

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
        found += field.one_of(f"{path}.accessModes", mode, _ACCESS_MODES)
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
    found += field.unsupported(spec, "volumeMode", path, _VOLUME_MODES)
    _sources(spec, path, found)
    if name := spec.get("volumeAttributesClassName"):
        problems = names.dns1123_subdomain(name)
        found += [field.invalid(f"{path}.volumeAttributesClassName", name, text) for text in problems]


def _sources(spec: Obj, path: str, found: list[FieldError]) -> None:
    """Checks `dataSource` and `dataSourceRef` of a claim, which must agree if both are given."""
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        _claim_source(source, f"{path}.dataSource", found)
    if ref is not None:
        _claim_source(ref, f"{path}.dataSourceRef", found)
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


def _claim_source(source: Obj, path: str, found: list[FieldError]) -> None:
    kind, group = source.get("kind") or "", source.get("apiGroup") or ""
    found += field.missing(source, path, "name", "kind")
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        found.append(field.invalid(path, kind, text))
    if group:
        found += [field.invalid(f"{path}.apiGroup", group, t) for t in names.dns1123_subdomain(group)]
