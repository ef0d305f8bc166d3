"""Events as the recorders of this process write them: all of one shape, which is checked in one go.

Events are the most frequent objects. An event with just the fields that recorders write, in plain texts,
about an object of its own namespace, needs no decoding, passes all validation, and always has the same set of
owned fields. Any other event goes the long way, as does one in a namespace with a quota or with a taken name.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from longshore.api.apply import entries, managed
from longshore.api.kinds import table
from longshore.api.shape import FieldSet, shape_of
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.apiserver.answer import Answer
from longshore.apiserver.request.options import WriteOptions
from longshore.apiserver.rest import admission
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.call import Call

_MESSAGE: Final = "core/v1.Event"
"""The message of core events; those of events.k8s.io have other fields."""
_FIELDS: Final = {
    "metadata", "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
    "type", "reportingComponent",
}  # fmt: skip
_METADATA: Final = {"name", "namespace"}
_SOURCE: Final = {"component"}
_REFERENCE: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
"""Fields of a reference, in the order in which they are written."""
_REFERENCE_FIELDS: Final = frozenset(_REFERENCE)
_TEXT: Final = {str}
_MAX_COUNT: Final = 2**31 - 1


class PlainEvents:
    """Creates core events that callers in this process pass as values."""

    relies_on: ClassVar[tuple[str, ...]] = (
        "events have no defaults, and no rule about them but those that `_event_of` checks",
        "the set of owned fields of an event depends on which fields it has, not on their values",
    )
    earns: ClassVar[str] = "17 % of a pod: 27 instead of 56 µs an event (bench/run.py)"

    def create(self, api: Api, call: Call, wanted: WriteOptions) -> Answer | None:
        if call.resource.message != _MESSAGE or call.value is None:
            return None
        event = _event_of(call.value, call.namespace)
        if event is None or wanted.dry_run or not admission.is_free(api, call.namespace):
            return None
        meta = event["metadata"]
        key = Key("events", call.namespace, meta["name"])
        if api.store.latest(key) is not None:
            return None
        now = api.now()
        event["metadata"] = {
            "name": meta["name"],
            "namespace": call.namespace,
            "uid": api.new_uid(),
            "resourceVersion": "",
            "creationTimestamp": now,
            "managedFields": [entries.made(wanted.manager, "Update", "v1", _owned(), now, "")],
        }
        api.store.check_room()
        staged = api.store.stage(key, event)
        return Answer(call.resource, entry=staged.entry, code=201, staged=[staged])


def _event_of(value: Any, namespace: str) -> Obj | None:
    """The event in its stored form, if it surely passes validation; else None."""
    if type(value) is not dict or value.keys() != _FIELDS:
        return None
    meta, about, source = value["metadata"], value["involvedObject"], value["source"]
    if type(meta) is not dict or meta.keys() != _METADATA or meta["namespace"] != namespace:
        return None
    if type(about) is not dict or not about.keys() <= _REFERENCE_FIELDS:
        return None
    if about.get("namespace", "default") != namespace:  # those about objects without one are in this one
        return None
    if type(source) is not dict or source.keys() != _SOURCE:
        return None
    name, count = meta["name"], value["count"]
    reason, message, type_ = value["reason"], value["message"], value["type"]
    first, last, component = value["firstTimestamp"], value["lastTimestamp"], value["reportingComponent"]
    texts = (name, reason, message, type_, first, last, component, source["component"], *about.values())
    if set(map(type, texts)) != _TEXT or not all(texts):
        return None
    if "/" in name or "%" in name or name in (".", ".."):
        return None
    if type(count) is not int or not 0 < count <= _MAX_COUNT:
        return None
    if not rfc3339.is_canonical(first) or not rfc3339.is_canonical(last):
        return None
    return {
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {part: about[part] for part in _REFERENCE if part in about},
        "reason": reason,
        "message": message,
        "source": {"component": source["component"]},
        "firstTimestamp": first,
        "lastTimestamp": last,
        "count": count,
        "type": type_,
        "eventTime": None,
        "reportingComponent": component,
        "reportingInstance": "",
    }


@cache
def _owned() -> FieldSet:
    """The fields that an event's writer owns: always the same, since no field name depends on a value."""
    row = table.by_kind("v1", "Event")
    assert row is not None
    text, time = "x", "2026-01-01T00:00:00Z"
    value: Obj = {**dict.fromkeys(_FIELDS, text), "firstTimestamp": time, "lastTimestamp": time, "count": 1}
    value |= {"metadata": {"name": text, "namespace": text}, "source": {"component": text}}
    sample = _event_of({**value, "involvedObject": dict.fromkeys(_REFERENCE, text)}, text)
    assert sample is not None
    managed.after_update(sample, None, manager=text, api_version="v1", shape=shape_of(row), now=time)
    fields: FieldSet = sample["metadata"]["managedFields"][0]["fieldsV1"]
    return fields
