"""Events: one stored object, two views. Stored as core `v1` serves them; `events.k8s.io/v1` converts.

The core view takes almost anything, since recorders have always written to it; the newer one asks for
a complete event and lets nothing but the series change afterwards.
"""

from __future__ import annotations

from typing import ClassVar, Final

from longshore.api.field import FieldError
from longshore.api.strategy import Context, NameRule, Strategy
from longshore.api.types import Obj
from longshore.api.validation import event

_RENAMED: Final = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_NEW_NAME: Final = dict(_RENAMED)
_CORE_NAME: Final = {new: core for core, new in _RENAMED}
_OMITTED_WHEN_EMPTY: Final = ("reportingComponent", "reportingInstance")


def to_new(core: Obj) -> Obj:
    """The events.k8s.io view of a stored event."""
    out = {_NEW_NAME.get(k, k): v for k, v in core.items() if v or k not in _OMITTED_WHEN_EMPTY}
    out.setdefault("regarding", {})
    out.setdefault("deprecatedSource", {})
    for key in ("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"):
        out.setdefault(key, None)
    series = out.get("series")
    if series is not None:
        out["series"] = {"count": 0, "lastObservedTime": None, **series}
    return out


def to_core(new: Obj) -> Obj:
    """The stored form of an event of the newer group."""
    out = {_CORE_NAME.get(k, k): v for k, v in new.items()}
    complete(out)
    series = out.get("series")
    if series is not None and not series.get("count"):
        out["series"] = {k: v for k, v in series.items() if k != "count"}
    return out


def complete(core: Obj) -> None:
    """Spells out the fields that the core view always shows."""
    core.setdefault("involvedObject", {})
    core.setdefault("source", {})
    for key in ("firstTimestamp", "lastTimestamp", "eventTime"):
        core.setdefault(key, None)
    core.setdefault("reportingComponent", "")
    core.setdefault("reportingInstance", "")


class EventStrategy(Strategy):
    """Core events."""

    name_rule: ClassVar[NameRule] = "any"
    counts_generation: ClassVar[bool] = False
    has_status: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = True
    can_own: ClassVar[bool] = False

    def default(self, obj: Obj) -> None:
        complete(obj)

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return event.validate(obj, "reportingComponent")

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return event.validate(new, "reportingComponent")


class NewEventStrategy(Strategy):
    """Events of events.k8s.io. All hooks but `default` see the stored, core form."""

    counts_generation: ClassVar[bool] = False
    has_status: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = True
    can_own: ClassVar[bool] = False
    converts: ClassVar[bool] = True

    def to_storage(self, obj: Obj) -> Obj:
        return to_core(obj)

    def from_storage(self, obj: Obj) -> Obj:
        return to_new(obj)

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return event.validate(obj, "reportingController") + event.validate_new(obj)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return event.validate(new, "reportingController") + event.validate_new_update(new, old)
