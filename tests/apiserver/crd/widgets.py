"""Definitions for tests, built from little."""

from __future__ import annotations

from typing import Any

from support.api_in_memory import Answer, Server
from support.manifests import manifest

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "string", "enum": ["small", "large"]},
        "replicas": {"type": "integer", "format": "int32", "minimum": 1, "default": 2},
        "label": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "minLength": 1},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "weight": {"type": "integer", "default": 1}},
            },
        },
        "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def schema(spec: dict[str, Any] | None = None) -> dict[str, Any]:
    """A whole schema with this spec and a small status."""
    status = {"type": "object", "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"}}}
    return {"type": "object", "properties": {"spec": spec or SPEC, "status": status}}


def version(name: str = "v1", spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """One version, stored unless told otherwise."""
    own = {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema(spec)}}
    return own | more


def definition(*versions: dict[str, Any], kind: str = "Widget", **spec: Any) -> dict[str, Any]:
    """A definition of example.com with a kind of this name."""
    plural = f"{kind.lower()}s"
    whole = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": list(versions) or [version()],
        **spec,
    }
    return manifest(
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), f"{plural}.{whole['group']}", whole
    )


async def define(server: Server, crd: dict[str, Any]) -> Answer:
    """Creates a definition, which must be accepted. Returns it with its conditions."""
    answer = await server.send("POST", DEFINITIONS, crd)
    assert answer.code == 201, answer.body
    return await server.send("GET", f"{DEFINITIONS}/{answer.body['metadata']['name']}")


def widget(name: str = "w", version: str = "v1", **spec: Any) -> dict[str, Any]:
    """An object of the kind, valid by default."""
    return manifest((f"example.com/{version}", "Widget"), name, {"size": "small", **spec})
