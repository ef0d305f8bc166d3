"""Reasons as Events, for outside controllers: an Event carries a whole record and can be read back as one.

Its reason is the record's code, its message the words; the rest is in an annotation. So people see reasons in
`kubectl describe`, and stories work in any cluster, for as long as it keeps events.
"""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.api.facts import own_names
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery import catalogue
from longshore.machinery.reasons import Number
from longshore.machinery.records import Record
from longshore.why.kinds import KINDS, Kind

COMPONENT: Final = "longshore"
_MAX_MESSAGE_CHARACTERS: Final = 1024
"""Longest message that the API accepts."""


class _Rest(msgspec.Struct, omit_defaults=True):
    """The parts of a record that an Event has no field for."""

    at: float
    who: str
    numbers: dict[str, Number] = {}


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Rest).decode


def event_of(record: Record, name: str) -> Obj:
    """The Event, with this name, that keeps a record."""
    kind, at = KINDS[record.kind], rfc3339.from_seconds(record.at)
    rest = _encode(_Rest(record.at, record.who, dict(record.numbers))).decode()
    about = {"apiVersion": kind.api_version, "kind": kind.kind, "name": record.name, "uid": record.uid}
    if record.namespace:
        about["namespace"] = record.namespace
    return {
        "metadata": {
            "name": name,
            "namespace": record.namespace or "default",
            "annotations": {own_names.REASON: rest},
        },
        "involvedObject": about,
        "type": catalogue.event(record.code, record.numbers).type,
        "reason": record.code,
        "message": record.words[:_MAX_MESSAGE_CHARACTERS],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


def record_of(event: Obj, kind: Kind) -> Record | None:
    """The record that an Event about an object of this kind keeps; None for any other Event."""
    text = (event["metadata"].get("annotations") or {}).get(own_names.REASON)
    if text is None:
        return None
    try:
        rest = _decode(text)
    except msgspec.DecodeError:  # an annotation of this name that is not longshore's
        return None
    about = event.get("involvedObject") or {}
    return Record(
        rest.at,
        kind.word,
        about.get("namespace", ""),
        about.get("name", ""),
        about.get("uid", ""),
        rest.who,
        event.get("reason") or "",
        event.get("message") or "",
        rest.numbers,
    )
