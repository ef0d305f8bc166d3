"""metrics.k8s.io: what pods and nodes use right now, for `kubectl top`. Served while there is a node.

Nothing of it is stored: each answer combines the selected pods or nodes of the store with the node's
measurements.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api import errors
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.strategy import Strategy
from longshore.api.time import durations, rfc3339
from longshore.api.types import Obj
from longshore.api.usage import Measured, Used
from longshore.apiserver.answer import DocumentAnswer
from longshore.apiserver.documents.own_group import MadeDocument
from longshore.apiserver.request.call import INTERNAL, Call

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

GROUP: Final = "metrics.k8s.io"
_VERBS: Final = ("get", "list")
ROWS: Final = tuple(
    Resource(GROUP, "v1beta1", kind, plural, "", namespaced, Strategy(), verbs=_VERBS, style="custom")
    for kind, plural, namespaced in (("NodeMetrics", "nodes", False), ("PodMetrics", "pods", True))
)


def documents(api: Api) -> tuple[MadeDocument, ...]:
    """Both resources, for an Api with a node."""
    return tuple(MadeDocument(row, partial(answer, api)) for row in ROWS)


async def answer(api: Api, call: Call) -> DocumentAnswer:
    """Answers a GET of one object, or of all objects that the selectors match."""
    door = api.door
    assert door is not None, "the group is served only while there is a node"
    found = await door.measure()
    make = _of_pod if call.resource.namespaced else _of_node
    objs = [made for obj in await _objects(api, call) if (made := make(obj, found, door.node)) is not None]
    if call.verb == "list":
        kind = call.resource.list_kind
        items = [_typed(call.resource, obj) for obj in objs]
        return DocumentAnswer(
            {"kind": kind, "apiVersion": f"{GROUP}/v1beta1", "metadata": {}, "items": items}
        )
    if not objs:
        if call.resource.namespaced:
            raise errors.not_found(GROUP, "podmetrics", f"{call.namespace}/{call.name}")
        raise errors.not_found(GROUP, "nodes", call.name)
    return DocumentAnswer(_typed(call.resource, objs[0]))


async def _objects(api: Api, call: Call) -> list[Obj]:
    """The pods or nodes the answer is about."""
    row = table.find("", "v1", call.resource.plural)
    assert row is not None
    query = {key: call.query[key] for key in ("labelSelector", "fieldSelector") if key in call.query}
    if call.name:
        query["fieldSelector"] = [f"metadata.name={call.name}"]
    inner = msgspec.structs.replace(call, resource=row, verb="list", name="", query=query, user=INTERNAL)
    return [entry.obj for entry in (await api.list(inner)).entries]


def _typed(resource: Resource, obj: Obj) -> Obj:
    return {"kind": resource.kind, "apiVersion": resource.group_version, **obj}


def _of_pod(pod: Obj, found: Measured, node: str) -> Obj | None:
    used = found.pods.get(pod["metadata"]["uid"])
    if not used:
        return None
    containers = [{"name": name, "usage": _amounts(amount)} for name, amount in sorted(used.items())]
    return {**_head(pod, found), "containers": containers}


def _of_node(obj: Obj, found: Measured, node: str) -> Obj | None:
    if obj["metadata"]["name"] != node:
        return None
    return {**_head(obj, found), "usage": _amounts(found.node)}


def _head(obj: Obj, found: Measured) -> Obj:
    now = rfc3339.from_seconds(found.at)
    meta = {key: obj["metadata"][key] for key in ("name", "namespace", "labels") if key in obj["metadata"]}
    window = durations.text(int(found.window * 1000) * 1_000_000)
    return {"metadata": {**meta, "creationTimestamp": now}, "timestamp": now, "window": window}


def _amounts(used: Used) -> Obj:
    return {"cpu": f"{round(used.cores * 1e9)}n", "memory": f"{used.memory // 1024}Ki"}
