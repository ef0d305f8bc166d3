"""Events for people: newest last, with count and age."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from longshore.api.time import ages
from longshore.cli.describing.description_lines import NONE

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.describing.description_lines import Lines

_NEVER = datetime.min.replace(tzinfo=UTC)


def last_time(event: Obj) -> str:
    """The time of the last occurrence; empty if the event has none."""
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((time for time in times if time), "")


def first_time(event: Obj) -> str:
    return event.get("firstTimestamp") or event.get("eventTime") or last_time(event)


def in_order(events: list[Obj]) -> list[Obj]:
    """The events, oldest first."""
    return sorted(events, key=lambda event: ages.moment(last_time(event)) or _NEVER)


def seen(event: Obj, now: datetime) -> str:
    """`5s`, or `5s (x3 over 2m)` for a repeated event."""
    count = (event.get("series") or {}).get("count") or event.get("count") or 0
    last = ages.age(last_time(event) or None, now)
    if count > 1:
        return f"{last} (x{count} over {ages.age(first_time(event) or None, now)})"
    return ages.age(first_time(event) or None, now)


def source(event: Obj) -> str:
    """The component that reported the event, and its host."""
    given = event.get("source") or {}
    who = given.get("component") or event.get("reportingComponent") or ""
    return f"{who}, {given['host']}" if given.get("host") else who


def now() -> datetime:
    return datetime.now(UTC)


def table(lines: Lines, events: Sequence[Obj], now: datetime) -> None:
    if not events:
        lines.pair(0, "Events", NONE)
        return
    lines.add(0, "Events:")
    lines.add(1, "Type\tReason\tAge\tFrom\tMessage")
    lines.add(1, "----\t------\t----\t----\t-------")
    for event in in_order(list(events)):
        cells = event.get("type", ""), event.get("reason", ""), seen(event, now)
        message = event.get("message", "").strip().replace("\n", "\n\t\t\t\t")
        if part := (event.get("involvedObject") or {}).get("fieldPath"):
            message = f"{part}: {message}"
        lines.add(1, "\t".join((*cells, source(event), message)))
