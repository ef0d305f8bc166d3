"""The kinds of Kubernetes' own gangs (alpha), as definitions: Workload and PodGroup of scheduling.k8s.io."""

from __future__ import annotations

from typing import Any, Final

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client

_LABEL: Final = {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_POLICY: Final = {
    "type": "object",
    "oneOf": [{"required": ["basic"]}, {"required": ["gang"]}],
    "properties": {
        "basic": {"type": "object"},
        "gang": {
            "type": "object",
            "required": ["minCount"],
            "properties": {"minCount": {"type": "integer", "format": "int32", "minimum": 1}},
        },
    },
}
_MAX_TEMPLATES: Final = 8
_WORKLOAD: Final = {
    "type": "object",
    "required": ["podGroupTemplates"],
    "properties": {
        "controllerRef": {
            "type": "object",
            "required": ["kind", "name"],
            "properties": {key: {"type": "string"} for key in ("apiGroup", "kind", "name")},
        },
        "podGroupTemplates": {
            "type": "array",
            "maxItems": _MAX_TEMPLATES,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name", "schedulingPolicy"],
                "properties": {"name": _LABEL, "schedulingPolicy": _POLICY},
            },
        },
    },
}
_GROUP: Final = {
    "type": "object",
    "required": ["schedulingPolicy"],
    "properties": {
        "podGroupTemplateRef": {
            "type": "object",
            "properties": {
                "workload": {
                    "type": "object",
                    "required": ["workloadName", "podGroupTemplateName"],
                    "properties": {"workloadName": {"type": "string"}, "podGroupTemplateName": _LABEL},
                }
            },
        },
        "schedulingPolicy": _POLICY,
    },
}
_CONDITION: Final = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        **{key: {"type": "string"} for key in ("type", "status", "reason", "message", "lastTransitionTime")},
        "observedGeneration": {"type": "integer", "format": "int64"},
    },
}
_GROUP_STATUS: Final = {
    "type": "object",
    "properties": {"conditions": {"type": "array", "items": _CONDITION}},
}


def _definition(kind: str, plural: str, spec: Obj, status: Obj | None) -> Obj:
    schema: dict[str, Any] = {"type": "object", "required": ["spec"], "properties": {"spec": spec}}
    version: Obj = {"name": "v1alpha2", "served": True, "storage": True}
    if status is not None:
        schema["properties"]["status"] = status
        version["subresources"] = {"status": {}}
    version["schema"] = {"openAPIV3Schema": schema}
    approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/issues/4671"}
    return {
        "metadata": {"name": f"{plural}.scheduling.k8s.io", "annotations": approved},
        "spec": {
            "group": "scheduling.k8s.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


DEFINITIONS: Final[tuple[Obj, ...]] = (
    _definition("Workload", "workloads", _WORKLOAD, None),
    _definition("PodGroup", "podgroups", _GROUP, _GROUP_STATUS),
)


async def define(client: Client) -> None:
    """Makes the kinds known, as far as they are not."""
    from longshore.api import errors

    for definition in DEFINITIONS:
        with errors.tolerated(409):
            await client.create(kinds.DEFINITIONS, definition)
