"""Volcano's kinds: custom resources whose definitions are built into longshore.

`data/volcano.json` holds their schemas as facts of Volcano's own definitions: names, types, limits,
defaults. `$ref` there names a definition of the same file or, with a slash, one of Kubernetes' messages
(a Job's tasks have whole pod templates). The file is read when the first schema is needed.

Volcano's further checks (admission) are in `validation/volcano/`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from longshore.api import schema, types
from longshore.api.kinds.structural import StructuralStrategy, structural_strategy
from longshore.api.types import Obj

Foreign = Callable[[str], Obj]
"""Returns the schema of one of Kubernetes' messages."""


def strategy(group_version: str, kind: str, *, status: bool) -> StructuralStrategy:
    """The behaviour of one of Volcano's kinds."""
    schema = partial(schema_of, group_version, kind)
    return structural_strategy(schema, status=status, lasts=True)


def schema_of(group_version: str, kind: str, foreign: Foreign | None = None) -> Obj:
    """The schema of a kind, with all references resolved. Equal parts are the same dict."""
    if foreign is None:
        foreign = of_message
    return _Resolver(foreign).kind(_data()["kinds"][f"{group_version} {kind}"])


@cache
def _data() -> Obj:
    file = Path(__file__).parent.parent / "data" / "volcano.json"
    data: Obj = types.decode(file.read_bytes())
    return data


class _Resolver:
    def __init__(self, foreign: Foreign) -> None:
        self._foreign = foreign
        self._definitions: dict[str, Obj] = {}

    def kind(self, properties: Obj) -> Obj:
        return {"type": "object", "properties": {k: self._resolved(v) for k, v in properties.items()}}

    def _resolved(self, value: Any) -> Any:
        if type(value) is list:
            return [self._resolved(item) for item in value]
        if type(value) is not dict:
            return value
        if "$ref" not in value:
            return {key: self._resolved(inner) for key, inner in value.items()}
        target = self._target(value["$ref"])
        # A default beside a reference belongs to this one use of it.
        return {**target, "default": value["default"]} if "default" in value else target

    def _target(self, name: str) -> Obj:
        if "/" in name:
            return self._foreign(name)
        if name not in self._definitions:
            self._definitions[name] = self._resolved(_data()["definitions"][name])
        return self._definitions[name]


# ---- Kubernetes' own types as structural schemas, for custom kinds that contain them (pod templates).
#
# What a schema generator makes of the Go types: names, types, list types, required fields and the few
# defaults written beside the types. No enumerations: Kubernetes' are not part of it. The same message is
# always the same dict, so it is compiled once however often it is used.

QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_INT_OR_STRING: Final[Obj] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_TYPES: Final[dict[str, Obj]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "float64": {"type": "number"},
    "bytes": {"type": "string", "format": "byte"},
    "Time": {"type": "string", "format": "date-time"},
    "MicroTime": {"type": "string", "format": "date-time"},
    "Duration": {"type": "string"},
    "Quantity": {**_INT_OR_STRING, "pattern": QUANTITY_PATTERN},
    "IntOrString": _INT_OR_STRING,
    "FieldsV1": {"type": "object"},
    "RawExtension": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_DEFAULTS: Final[dict[tuple[str, str], Any]] = {
    ("core/v1.AzureDiskVolumeSource", "fsType"): "ext4",
    ("core/v1.AzureDiskVolumeSource", "readOnly"): False,
    ("core/v1.ContainerPort", "protocol"): "TCP",
    ("core/v1.ConfigMapEnvSource", "name"): "",
    ("core/v1.ConfigMapKeySelector", "name"): "",
    ("core/v1.ConfigMapProjection", "name"): "",
    ("core/v1.ConfigMapVolumeSource", "name"): "",
    ("core/v1.FileKeySelector", "optional"): False,
    ("core/v1.GRPCAction", "service"): "",
    ("core/v1.ISCSIVolumeSource", "iscsiInterface"): "default",
    ("core/v1.LocalObjectReference", "name"): "",
    ("core/v1.RBDVolumeSource", "keyring"): "/etc/ceph/keyring",
    ("core/v1.RBDVolumeSource", "pool"): "rbd",
    ("core/v1.RBDVolumeSource", "user"): "admin",
    ("core/v1.ScaleIOVolumeSource", "fsType"): "xfs",
    ("core/v1.ScaleIOVolumeSource", "storageMode"): "ThinProvisioned",
    ("core/v1.SecretEnvSource", "name"): "",
    ("core/v1.SecretKeySelector", "name"): "",
    ("core/v1.SecretProjection", "name"): "",
}
"""Defaults that the Go types declare by `+default`; a ConfigMap volume's name comes from its reference."""


@cache
def of_message(message_id: str) -> Obj:
    """The schema of a message, e.g. `core/v1.PodSpec`. KeyError when no table describes it."""
    message = schema.message(message_id)
    out: Obj = {"type": "object"}
    properties = {name: _property(message_id, own) for name, own in message.fields.items()}
    if properties:
        out["properties"] = properties
    if needed := [name for name, own in message.fields.items() if own.required]:
        out["required"] = needed
    if message.map_type:
        out["x-kubernetes-map-type"] = message.map_type
    return out


def _property(message_id: str, own: schema.Field) -> Obj:
    out = _type(own.type)
    extra: Obj = {}
    if own.list_type:
        extra["x-kubernetes-list-type"] = own.list_type
    if own.list_map_keys:
        extra["x-kubernetes-list-map-keys"] = list(own.list_map_keys)
    if own.map_type:
        extra["x-kubernetes-map-type"] = own.map_type
    if (message_id, own.json) in _DEFAULTS:
        extra["default"] = _DEFAULTS[message_id, own.json]
    return {**out, **extra} if extra else out


@cache
def _type(kind: schema.Type) -> Obj:
    match kind.kind:
        case "message":
            return of_message(kind.name)
        case "list":
            return {"type": "array", "items": _type(kind.items)}
        case "map":
            return {"type": "object", "additionalProperties": _type(kind.items)}
    return _TYPES[kind.name]
