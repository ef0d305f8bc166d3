"""Settings of the gang scheduler for tests, read as a file of Volcano's is."""

from __future__ import annotations

import json
from typing import Any

from longshore.scheduler.gang.conf import scheduler_conf
from longshore.scheduler.gang.settings import Settings

FIRST = ("priority", {"name": "gang", "enablePreemptable": False}, "conformance")
SECOND = (
    "overcommit",
    {"name": "drf", "enablePreemptable": False},
    "predicates",
    "proportion",
    "nodeorder",
    "binpack",
)
"""The tiers of Volcano's Helm chart."""
USUAL = "enqueue, allocate, backfill, preempt, reclaim"


def settings(*tiers: tuple[Any, ...], actions: str = USUAL, **options: Any) -> Settings:
    """Plugins by tier, each a name or a mapping; without any, those of Volcano's Helm chart."""
    conf = {
        "actions": actions,
        "tiers": [
            {"plugins": [{"name": each} if isinstance(each, str) else each for each in tier]}
            for tier in tiers or (FIRST, SECOND)
        ],
        "configurations": [{"name": name, "arguments": given} for name, given in options.items()],
    }
    found = scheduler_conf.read(json.dumps(conf).encode())
    assert not found.warnings
    return found.settings


def swapped(tier: tuple[Any, ...], name: str, *others: Any) -> tuple[Any, ...]:
    """A tier with other plugins in the place of one."""
    found: list[Any] = []
    for each in tier:
        found += others if each == name or (isinstance(each, dict) and each["name"] == name) else (each,)
    return tuple(found)
