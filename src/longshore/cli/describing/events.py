"""The table of events at the end of a description."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from longshore.api.types import Obj
from longshore.cli.describing.description_lines import NONE, Lines
from longshore.cli.showing import event_lines


def describe(lines: Lines, events: Sequence[Obj], now: datetime) -> None:
    if not events:
        lines.pair(0, "Events", NONE)
        return
    lines.add(0, "Events:")
    lines.add(1, "Type\tReason\tAge\tFrom\tMessage")
    lines.add(1, "----\t------\t----\t----\t-------")
    for event in event_lines.in_order(list(events)):
        cells = event.get("type", ""), event.get("reason", ""), event_lines.seen(event, now)
        message = event.get("message", "").strip().replace("\n", "\n\t\t\t\t")
        if part := (event.get("involvedObject") or {}).get("fieldPath"):
            message = f"{part}: {message}"
        lines.add(1, "\t".join((*cells, event_lines.source(event), message)))
