"""Events as the recorders of this process write them: all of one shape, which is checked in one go.

An event is the most frequent object of all. One that says what recorders say, in plain texts, about an
object of its own namespace, needs no decoding, has nothing that validation could object to, and always the
same set of owned fields. Anything else about it, a quota on events or a name that is taken goes the long
way.
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
"""The message of core events; those of events.k8s.io say other things."""
_FIELDS: Final = {
    "metadata", "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
    "type", "reportingComponent",
}  # fmt: skip
_METADATA: Final = {"name", "namespace"}
_SOURCE: Final = {"component"}
_REFERENCE: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
"""In the order in which they are written."""
_REFERENCE_FIELDS: Final = frozenset(_REFERENCE)
_TEXT: Final = {str}
_MAX_COUNT: Final = 2**31 - 1


class PlainEvents:
    """Creates of core events that come as values from within this process."""

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
    """The event in its stored form, if it is one that nothing can be said against."""
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
    """The fields its writer owns: the same for all, since none of their names depends on a value."""
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
