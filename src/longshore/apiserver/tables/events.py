"""Columns of events, the same for both API groups that serve them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from longshore.api.time import ages
from longshore.api.types import Obj
from longshore.apiserver.tables.cells import Printer, column, name_of, wide


def _event(event: Obj, now: datetime) -> list[Any]:
    """Reads the fields of either form: core's, or events.k8s.io's other names for them."""
    about = event.get("involvedObject") or event.get("regarding") or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    message = event.get("message") or event.get("note") or ""
    first = ages.age(event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp"), now)
    if first == ages.UNKNOWN:
        first = ages.age(event.get("eventTime"), now)
    last = ages.age(event.get("lastTimestamp") or event.get("deprecatedLastTimestamp"), now)
    if last == ages.UNKNOWN:
        last = first
    # A single event of the newer API carries no count.
    count = event.get("count") or event.get("deprecatedCount") or 1
    series = event.get("series")
    if series is not None:
        last = ages.age(series.get("lastObservedTime"), now)
        count = series.get("count", 0)
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        _target(about),
        about.get("fieldPath", ""),
        _source(event, source),
        message.strip(),
        first,
        count,
        name_of(event),
    ]


def _target(about: Obj) -> str:
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def _source(event: Obj, source: Obj) -> str:
    controller = event.get("reportingComponent") or event.get("reportingController") or ""
    component = source.get("component") or controller
    instance = source.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


_EVENT: Final = Printer(
    (
        column("Last Seen", "Time since this last happened."),
        column("Type", "Normal or Warning."),
        column("Reason", "Why the event was sent, in one word."),
        column("Object", "What the event is about."),
        wide("Subobject", "The part of the object the event is about."),
        wide("Source", "Who sent the event."),
        column("Message", "What happened."),
        wide("First Seen", "Time since this first happened."),
        wide("Count", "How often this happened."),
        column("Name", "Name of the event itself.", format="name", priority=1),
    ),
    _event,
)

PRINTERS: Final = {("", "Event"): _EVENT, ("events.k8s.io", "Event"): _EVENT}
