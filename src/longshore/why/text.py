"""A story as text for people: one line per thing that happened, with its time of day; newest last.

Takes the document of a story (`Story.document`), so that a client needs no other part of the package.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, Final

from longshore.api.terminal import harmless

_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_INDENT: Final = 10


def lines(story: Mapping[str, Any], zone: tzinfo | None, now: datetime, most: int = 0) -> list[str]:
    """The text, in this zone (None: the machine's own). If `most` is not 0, only that many newest lines."""
    told = story["story"]
    cut = len(told) - most if most and len(told) > most else 0
    out: list[str] = []
    if cut:
        out += _below("…", [f"{cut} earlier lines; longshore why --all shows them"], _INDENT)
    times = [_shown(line["at"], zone, now) for line in told[cut:]]
    width = max([_INDENT, *(len(time) + 2 for time in times)])
    for time, line in zip(times, told[cut:], strict=True):
        words = _in_zone(line["words"], zone, now)
        if line.get("times", 1) > 1:
            words += f" ({line['times']} times, until {_shown(line['until'], zone, now)})"
        out += _below(time, [words, *(_in_zone(more, zone, now) for more in line.get("more", ()))], width)
    for title in ("now", "next"):
        out += _below(title, [_in_zone(words, zone, now) for words in story[title]], width)
    return out


def _below(title: str, words: Sequence[str], width: int) -> list[str]:
    """The words, one per line, with the title before the first."""
    titles = [title, *[""] * len(words)]
    return [f"{title:<{width}}{line}" for title, line in zip(titles, words, strict=False)]


def _in_zone(words: str, zone: tzinfo | None, now: datetime) -> str:
    return _STAMP.sub(lambda found: _shown(found[0], zone, now), harmless(words))


def _shown(stamp: str, zone: tzinfo | None, now: datetime) -> str:
    """The time of day; with the date if that is not today. The last words of a container may hold a stamp
    that is no valid date (0000-00-00) or not in this zone (year 1): it stays as it is."""
    try:
        at = datetime.fromisoformat(stamp).astimezone(zone)
    except (ValueError, OverflowError):
        return stamp
    today = at.date() == now.astimezone(zone).date()
    return at.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")
