"""Valid objects to begin with: one of every resource, and all that the recordings of Kubernetes hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from apiserver.crd import widgets
from longshore.api.kinds import table
from longshore.api.resources import Resource
from support.places import RECORDED

Obj = dict[str, Any]
NAMESPACE: Final = "default"
_BODIES: Final[dict[str, Any]] = {
    **yaml.load(Path(__file__).with_suffix(".yaml").read_text(), Loader=yaml.CSafeLoader),
    "customresourcedefinitions": widgets.definition(
        widgets.version(
            spec={
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "default": 3},
                    "names": {"type": "array", "items": {"type": "string"}},
                },
            },
            subresources={"status": {}},
        )
    ),
}


@dataclass(frozen=True)
class Seed:
    resource: Resource
    obj: Obj


GADGETS: Final = widgets.definition(
    widgets.version(
        spec=_BODIES["gadget schema"],
        subresources={"status": {}},
        additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    ),
    kind="Gadget",
    group="example.org",
)
"""A definition that no random request is about, so that there is always a kind of a user's own."""
GADGET: Final = _BODIES["gadget"]


def path_of(resource: Resource, name: str = "", subresource: str = "") -> str:
    """The URL path of a collection, an object or something below it, in the namespace of these tests."""
    parts = ["apis", resource.group, resource.version] if resource.group else ["api", resource.version]
    if resource.namespaced:
        parts += ["namespaces", NAMESPACE]
    return "/" + "/".join([*parts, resource.plural, *filter(None, (name, subresource))])


def own_seeds() -> list[Seed]:
    """One of every resource the server has from the start."""
    return [Seed(resource, _own(resource)) for resource in table.RESOURCES]


def seeds(more: list[Seed]) -> list[Seed]:
    """Those, `more`, and the recorded ones; not only pods and jobs, of which there are most recordings."""
    return [*own_seeds(), *more] * 5 + _recorded()


def _own(resource: Resource) -> Obj:
    body = _BODIES.get(f"{resource.group}/{resource.plural}") or _BODIES[resource.plural]
    return {
        "apiVersion": resource.group_version,
        "kind": resource.kind,
        "metadata": {"name": "seed", "labels": {"a": "b"}, "annotations": {"x": "y"}},
        **body,
    }


def _recorded() -> list[Seed]:
    """What was sent to real Kubernetes, also what it refused."""
    rows = {(row.group_version, row.kind): row for row in table.RESOURCES}
    found: dict[str, Seed] = {}

    def take(obj: Obj) -> None:
        row = rows.get((obj.get("apiVersion", ""), obj.get("kind", "")))
        metadata = obj.get("metadata")
        if row is not None and isinstance(metadata, dict):
            plain = {**obj, "metadata": {k: v for k, v in metadata.items() if k != "namespace"}}
            found[json.dumps(plain)] = Seed(row, plain)

    files = sorted((RECORDED / "vectors/api").glob("*.json"))
    assert files, "the recorded exchanges are missing"
    for file in files:
        for exchange in json.loads(file.read_text()):
            body = exchange["request"].get("body")
            if isinstance(body, dict) and exchange["request"]["method"] == "POST":
                take(body)
    for line in (RECORDED / "protobuf/samples.jsonl").read_text().splitlines():
        take(json.loads(line)["json"])
    return list(found.values())
