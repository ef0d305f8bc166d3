"""Two servers that get the same requests, one with shortcuts and one without."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from longshore.api import codec
from longshore.api.codec import DecodeError
from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.types import Obj, copy_of, encode
from longshore.apiserver.answer import DocumentAnswer
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.request.call import Call
from longshore.apiserver.request.negotiate import PROTOBUF
from longshore.store import Key, Store
from support.fixed_clock import FixedClock

NS = "ns"
KINDS: dict[str, tuple[str, str]] = {
    "pod": ("v1", "Pod"),
    "job": ("batch/v1", "Job"),
    "event": ("v1", "Event"),
    "gang": ("batch.volcano.sh/v1alpha1", "Job"),
    "group": ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    "queue": ("scheduling.volcano.sh/v1beta1", "Queue"),
    "namespace": ("v1", "Namespace"),
    "limits": ("v1", "LimitRange"),
    "quota": ("v1", "ResourceQuota"),
    "priority": ("scheduling.k8s.io/v1", "PriorityClass"),
}
Verb = Literal["create", "update", "patch", "delete"]


@dataclass(frozen=True)
class Request:
    """One request. A body of `update` is laid over the object as it is stored by then."""

    verb: Verb
    kind: str
    body: Obj = field(default_factory=dict)
    name: str = ""
    subresource: str = ""
    type: str = "application/json"
    wire: bool = False
    """Whether it comes as bytes, as over HTTP, and not as a value from within the process."""
    query: tuple[tuple[str, str], ...] = (("fieldManager", "tester"),)


def resource_of(kind: str) -> Resource:
    row = table.by_kind(*KINDS[kind])
    assert row is not None
    return row


START: tuple[Request, ...] = (
    Request("create", "namespace", {"metadata": {"name": NS}}),
    Request("create", "queue", {"metadata": {"name": "default"}, "spec": {}}, wire=True),
    Request(
        "patch", "queue", {"status": {"state": "Open"}}, "default", "status", "application/merge-patch+json"
    ),
)


def played(requests: Sequence[Request], *, shortcuts: bool) -> list[Any]:
    """What each request was answered, then all that was stored and told to watchers."""

    async def play() -> list[Any]:
        store = Store.open(None)
        clock = FixedClock()
        api = Api(ApiParts(store, clock, random.Random(1), shortcuts=shortcuts))
        watch = [store.watch(resource_of(kind).storage) for kind in KINDS]
        found = []
        for number, request in enumerate((*START, *requests)):
            clock.seconds += number % 3 == 2
            found.append(_answered(api, request))
        await store.drained()
        for each in watch:
            each.nudge()
            told = await anext(each)
            found.append([(event.revision, event.type, event.entry.key, event.entry.raw) for event in told])
        found.append([e.raw for kind in KINDS for e in store.list(resource_of(kind).storage).entries])
        await store.close()
        return found

    return asyncio.run(play())


def _answered(api: Api, request: Request) -> Any:
    row = resource_of(request.kind)
    namespace = NS if row.namespaced else ""
    value = request.body
    if request.verb == "update":
        stored = api.store.latest(Key(row.storage, namespace, request.name))
        if stored is None:
            return "nothing to update"
        value = _laid_over(copy_of(row.strategy.from_storage(stored.obj)), request.body)
    typed = {"apiVersion": row.group_version, "kind": row.kind, **value}
    if request.verb != "patch" and (request.wire or not row.message):
        value = typed
    by_value = not request.wire and request.verb != "delete" and (row.message or row.strategy.keeps_parts)
    body = encode(value)
    if request.type == PROTOBUF:
        try:
            sent = codec.from_value(value, row.message).obj
        except DecodeError as err:
            return str(err)
        body = codec.encode_protobuf(sent, row.group_version, row.kind, row.message)
    call = Call(
        row,
        request.verb,
        namespace,
        request.name,
        request.subresource,
        {key: (text,) for key, text in request.query},
        body=b"" if by_value or request.verb == "delete" else body,
        content_type=request.type,
        value=value if by_value else None,
    )
    before = copy_of(value)
    try:
        answer = api.write(call)
    except StatusError as err:
        return err.code, err.reason, err.message, err.details, call.warnings
    except DecodeError as err:
        return str(err)
    assert value == before, "what a caller hands over stays as it is"
    writes = [(one.entry.key, one.entry.revision, one.entry.raw) for one in answer.staged]
    told = answer.document if isinstance(answer, DocumentAnswer) else answer.raw()
    return answer.code, told, writes, call.warnings


def _laid_over(obj: Obj, change: Obj) -> Obj:
    for key, value in change.items():
        if key == "metadata":
            obj["metadata"] = {**obj["metadata"], **value}
        else:
            obj[key] = value
    return obj
