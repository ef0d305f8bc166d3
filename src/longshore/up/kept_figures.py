"""Figures of what is kept of what is over, beside their limits, for `longshore status`: /longshore/kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from longshore.api.types import Obj

if TYPE_CHECKING:
    from longshore.api.retention import Retention
    from longshore.store import Store

PREFIX: Final = "/longshore/kept"


def page(store: Store, limits: Retention) -> Callable[[str], Obj | None]:
    """The answer to the path: how many there are, how many there may be, and for how long."""

    def answer(rest: str) -> Obj | None:
        if rest:
            return None
        return {
            "kind": "Kept",
            "events": _figure(store.counts().get("events", 0), limits.events, limits.event_age),
            "history": _figure(len(store.finished_jobs), limits.history, limits.history_age),
            "reasons": _figure(len(store.reasons), limits.reasons, limits.reasons_age),
            "archive": {"limitBytes": limits.archive, "limit": limits.archive_pods},
        }

    return answer


def _figure(count: int, limit: int, age: float) -> Obj:
    return {"count": count, "limit": limit, "ageSeconds": age}
