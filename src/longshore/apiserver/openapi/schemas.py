"""Schemas of kinds and their parts, from the table of messages, in either dialect of OpenAPI.

Version 3 wraps references that have further keywords beside them and gives the default of an absent field;
version 2 can do neither. Custom resources have a schema of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Final, Literal

from longshore.api import schema
from longshore.api.schema import Field, Message, Type
from longshore.api.types import Obj
from longshore.apiserver.openapi import custom, descriptions, names

# ---- Values that fields take, where Kubernetes publishes them. The table of messages has none.
#
# Only fields whose value the server checks against just these are here.

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICY: Final = ("FallbackToLogsOnError", "File")
_PREEMPTION: Final = ("Never", "PreemptLowerPriority")

VALUES: Final[dict[str, tuple[str, ...]]] = {
    "batch/v1.CronJobSpec:concurrencyPolicy": ("Allow", "Forbid", "Replace"),
    "batch/v1.JobSpec:completionMode": ("Indexed", "NonIndexed"),
    "batch/v1.JobSpec:podReplacementPolicy": ("Failed", "TerminatingOrFailed"),
    "batch/v1.PodFailurePolicyRule:action": ("Count", "FailIndex", "FailJob", "Ignore"),
    "batch/v1.PodFailurePolicyOnExitCodesRequirement:operator": ("In", "NotIn"),
    "core/v1.Container:imagePullPolicy": _PULL,
    "core/v1.Container:terminationMessagePolicy": _MESSAGE_POLICY,
    "core/v1.ContainerPort:protocol": _PROTOCOLS,
    "core/v1.EphemeralContainer:imagePullPolicy": _PULL,
    "core/v1.EphemeralContainer:terminationMessagePolicy": _MESSAGE_POLICY,
    "core/v1.HTTPGetAction:scheme": ("HTTP", "HTTPS"),
    "core/v1.NodeSelectorRequirement:operator": ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"),
    "core/v1.PersistentVolumeClaimSpec:volumeMode": ("Block", "Filesystem"),
    "core/v1.PodSpec:dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "core/v1.PodSpec:preemptionPolicy": _PREEMPTION,
    "core/v1.PodSpec:restartPolicy": ("Always", "Never", "OnFailure"),
    "core/v1.PodStatus:phase": ("Failed", "Pending", "Running", "Succeeded", "Unknown"),
    "core/v1.PodStatus:qosClass": ("BestEffort", "Burstable", "Guaranteed"),
    "core/v1.SeccompProfile:type": ("Localhost", "RuntimeDefault", "Unconfined"),
    "core/v1.ServicePort:protocol": _PROTOCOLS,
    "core/v1.ServiceSpec:sessionAffinity": ("ClientIP", "None"),
    "core/v1.ServiceSpec:type": ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
    "core/v1.Taint:effect": ("NoExecute", "NoSchedule", "PreferNoSchedule"),
    "core/v1.Toleration:effect": ("NoExecute", "NoSchedule", "PreferNoSchedule"),
    "core/v1.TopologySpreadConstraint:whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "scheduling/v1.PriorityClass:preemptionPolicy": _PREEMPTION,
}


Dialect = Literal[2, 3]

_PREFIX: Final = {2: "#/definitions/", 3: "#/components/schemas/"}
_GVK: Final = "x-kubernetes-group-version-kind"
_SCALARS: Final[dict[str, Obj]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "float64": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
_ZERO: Final = {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0}
_OBJECT: Final[Obj] = {"type": "object"}

# Special types as schemas of their own: in version 2, and in version 3 where that can say more.
_SPECIALS: Final[dict[str, tuple[Obj, Obj | None]]] = {
    "Time": ({"type": "string", "format": "date-time"}, None),
    "MicroTime": ({"type": "string", "format": "date-time"}, None),
    "Duration": ({"type": "string"}, None),
    "FieldsV1": (_OBJECT, None),
    "RawExtension": (_OBJECT, None),
    "Quantity": ({"type": "string"}, {"oneOf": [{"type": "string"}, {"type": "number"}]}),
    "IntOrString": (
        {"type": "string", "format": "int-or-string"},
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "JSON": ({}, None),
    "JSONSchemaPropsOrArray": ({}, None),
    "JSONSchemaPropsOrBool": ({}, None),
    "JSONSchemaPropsOrStringArray": ({}, None),
}
_VERSION_FIELDS: Final = (
    "major",
    "minor",
    "emulationMajor",
    "emulationMinor",
    "minCompatibilityMajor",
    "minCompatibilityMinor",
    "gitVersion",
    "gitCommit",
    "gitTreeState",
    "buildDate",
    "goVersion",
    "compiler",
    "platform",
)


@cache
def _kinds_of() -> Mapping[str, list[tuple[str, str]]]:
    """The (apiVersion, kind) pairs of each message."""
    found: dict[str, list[tuple[str, str]]] = {}
    for key, message in schema.kinds().items():
        version, _, kind = key.partition(" ")
        found.setdefault(message, []).append((version, kind))
    return found


class Schemas:
    """Builds schemas by name, and remembers which others they refer to."""

    def __init__(self, dialect: Dialect, served: Collection[str], own: Mapping[str, Obj]) -> None:
        """`served` are the apiVersions kinds are listed for; `own` the schemas of custom resources."""
        self._dialect = dialect
        self._served = served
        self._own = own
        self._wanted: list[str] = []

    def ref(self, name: str) -> Obj:
        """A reference to a schema, which `build` then includes."""
        self._wanted.append(name)
        return {"$ref": _PREFIX[self._dialect] + name}

    def build(self) -> dict[str, Obj]:
        """All schemas referred to so far, and all that those refer to, by name."""
        found: dict[str, Obj] = {}
        while self._wanted:
            name = self._wanted.pop()
            if name not in found:
                found[name] = self._schema(name)
        return dict(sorted(found.items()))

    def _schema(self, name: str) -> Obj:
        if name in self._own:
            return self._custom(self._own[name])
        if name == names.PATCH:
            return {"description": "A change to an object, in the form its media type says.", **_OBJECT}
        if name == names.VERSION_INFO:
            return {
                "type": "object",
                "properties": {field: {"type": "string"} for field in _VERSION_FIELDS},
                "required": [f for f in _VERSION_FIELDS if not f.startswith(("emul", "minC"))],
            }
        if name in names.SPECIAL_OF:
            return self._special(names.SPECIAL_OF[name])
        return self._message(schema.message(names.message_of(name)))

    def _special(self, special: str) -> Obj:
        plain, richer = _SPECIALS[special]
        text = descriptions.of_message(special)
        body = richer if self._dialect == 3 and richer is not None else plain
        return {"description": text, **body} if text else dict(body)

    def _custom(self, own: Obj) -> Obj:
        """A custom resource's schema, with its references turned into this dialect's."""
        body = own if self._dialect == 3 else custom.root_for_version_2(own)
        return {k: self._resolved(v) for k, v in body.items()}

    def _resolved(self, value: object) -> object:
        if isinstance(value, dict):
            if "$ref" in value:
                rest = {k: v for k, v in value.items() if k != "$ref"}
                return self._with(self.ref(value["$ref"]), rest)
            return {k: self._resolved(v) for k, v in value.items()}
        return [self._resolved(v) for v in value] if isinstance(value, list) else value

    def _message(self, message: Message) -> Obj:
        out: Obj = {}
        if text := descriptions.of_message(message.id):
            out["description"] = text
        out["type"] = "object"
        properties: Obj = {}
        if message.is_kind:
            for name in ("apiVersion", "kind"):
                properties[name] = {"description": descriptions.of_field("", name), "type": "string"}
        for name, field in message.fields.items():
            properties[name] = self._property(message.id, field)
        if properties:
            out["properties"] = properties
        if required := [name for name, field in message.fields.items() if field.required]:
            out["required"] = required
        if message.map_type:
            out["x-kubernetes-map-type"] = message.map_type
        if message.unions:
            out["x-kubernetes-unions"] = [dict(u) for u in message.unions]
        if kinds := self._gvks(message.id):
            out[_GVK] = kinds
        return out

    def _gvks(self, message: str) -> list[Obj]:
        found = []
        for version, kind in _kinds_of().get(message, ()):
            if version in self._served:
                group, _, v = version.rpartition("/")
                found.append({"group": group, "kind": kind, "version": v})
        return found

    def _property(self, message: str, field: Field) -> Obj:
        extra: Obj = {}
        if text := descriptions.of_field(message, field.json):
            extra["description"] = text
        if values := field.enum or VALUES.get(f"{message}:{field.json}"):
            extra["enum"] = list(values)
        if field.list_type:
            extra["x-kubernetes-list-type"] = field.list_type
        if field.list_map_keys:
            extra["x-kubernetes-list-map-keys"] = list(field.list_map_keys)
        if field.map_type:
            extra["x-kubernetes-map-type"] = field.map_type
        if field.patch_merge_key:
            extra["x-kubernetes-patch-merge-key"] = field.patch_merge_key
        if field.patch_strategies:
            extra["x-kubernetes-patch-strategy"] = ",".join(field.patch_strategies)
        if self._dialect == 3 and not field.optional:
            kind = field.type.kind
            if kind == "message":
                extra["default"] = {}
            elif kind == "scalar" and not field.omitempty and field.type.name in _ZERO:
                extra["default"] = _ZERO[field.type.name]
        return self._with(self._type(field.type), extra)

    def _type(self, type_: Type) -> Obj:
        match type_.kind:
            case "scalar":
                return dict(_SCALARS[type_.name])
            case "message":
                return self.ref(names.of_message(type_.name))
            case "list":
                return {"type": "array", "items": self._element(type_.items)}
            case "map":
                return {"type": "object", "additionalProperties": self._element(type_.items)}
        if type_.name == "Verbs":
            return {"type": "array", "items": self._element(schema.parse_type("string"))}
        return self.ref(names.SPECIALS[type_.name])

    def _element(self, type_: Type) -> Obj:
        extra: Obj = {}
        if self._dialect == 3:
            if type_.kind == "message":
                extra["default"] = {}
            elif type_.kind == "scalar" and type_.name in _ZERO:
                extra["default"] = _ZERO[type_.name]
        return self._with(self._type(type_), extra)

    def _with(self, body: Obj, extra: Mapping[str, object]) -> Obj:
        if not extra:
            return body
        if self._dialect == 3 and "$ref" in body:
            # Version 3 ignores whatever stands beside a bare reference.
            return {"allOf": [body], **extra}
        return {**body, **extra}
