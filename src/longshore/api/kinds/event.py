"""Events: one stored object, two views. Stored as core `v1` serves them; `events.k8s.io/v1` converts.

The core view takes almost anything, since recorders have always written to it; the newer one requires a
complete event, of which only the series may change afterwards.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from longshore.api import field, label_syntax, names
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata

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


_PLAIN: Final = Strategy(counts_generation=False, has_status=False, create_on_update=True, can_own=False)

CORE: Final = msgspec.structs.replace(
    _PLAIN,
    name_rule="any",
    default=complete,
    validate_create=lambda obj: validate(obj, "reportingComponent"),
    validate_update=lambda new, old: validate(new, "reportingComponent"),
)
NEW: Final = msgspec.structs.replace(
    _PLAIN,
    converts=True,
    to_storage=to_core,
    from_storage=to_new,
    validate_create=lambda obj: validate(obj, "reportingController") + validate_new(obj),
    validate_update=lambda new, old: validate(new, "reportingController") + validate_new_update(new, old),
)
"""Events of events.k8s.io. All hooks but `default` see the stored, core form."""


# ---- Checks of events, always on the stored (core) form.
#
# `validate` is what both groups ask: an event that carries an eventTime must be complete, an older one
# need only name an object of its own namespace. `validate_new` and `validate_new_update` are what
# events.k8s.io asks on top.

_LIMITS: Final = {"reportingInstance": 128, "action": 128, "reason": 128}
_MAX_MESSAGE_BYTES: Final = 1024
_MISMATCH: Final = "does not match event.namespace"


def validate(event: Obj, reporter: str) -> list[FieldError]:
    """Checks an event. `reporter` is the name of the reporting component's field in the request's group."""
    found: list[FieldError] = []
    namespace = event["metadata"].get("namespace", "")
    involved = event["involvedObject"].get("namespace", "")
    if not event.get("eventTime"):
        fits = involved == namespace if involved else namespace in ("", "default")
        if not fits:
            found.append(field.invalid("involvedObject.namespace", involved, _MISMATCH))
    else:
        if not involved and namespace not in ("default", "kube-system"):
            found.append(field.invalid("involvedObject.namespace", involved, _MISMATCH))
        found += _complete(event, reporter)
    found += [field.invalid("namespace", namespace, text) for text in names.dns1123_subdomain(namespace)]
    return found


def _complete(event: Obj, reporter: str) -> list[FieldError]:
    found: list[FieldError] = []
    component = event.get("reportingComponent", "")
    if not component:
        found.append(field.required(reporter))
    found += [field.invalid(reporter, component, text) for text in label_syntax.qualified_name(component)]
    for key, limit in _LIMITS.items():
        value = event.get(key, "")
        if not value:
            found.append(field.required(key))
        found += _too_long(key, value, limit)
    return found + _too_long("message", event.get("message", ""), _MAX_MESSAGE_BYTES)


def _too_long(key: str, value: str, limit: int) -> list[FieldError]:
    if len(value) <= limit and (value.isascii() or len(value.encode()) <= limit):
        return []
    return [field.invalid(key, "", f"can have at most {limit} characters")]


def validate_new(event: Obj) -> list[FieldError]:
    """Checks a new event of events.k8s.io, which must not use the deprecated fields."""
    found = _series(event)
    if not event.get("eventTime"):
        found.append(field.required("eventTime"))
    if event.get("type") not in ("Normal", "Warning"):
        found.append(field.invalid("type", "", f"has invalid value: {event.get('type', '')}"))
    for key in ("firstTimestamp", "lastTimestamp", "count"):
        if event.get(key):
            found.append(field.invalid(key, "", "needs to be unset"))
    source = event.get("source") or {}
    if source.get("component") or source.get("host"):
        found.append(field.invalid("source", "", "needs to be unset"))
    return found


def _series(event: Obj) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    found: list[FieldError] = []
    if series.get("count", 0) < 2:
        found.append(field.invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        found.append(field.required("series.lastObservedTime"))
    return found


_FIXED: Final[tuple[tuple[str, str, Any], ...]] = (
    ("involvedObject", "involvedObject", {}),
    ("reason", "reason", ""),
    ("message", "message", ""),
    ("source", "source", {}),
    ("firstTimestamp", "firstTimestamp", None),
    ("lastTimestamp", "lastTimestamp", None),
    ("count", "count", 0),
    ("reason", "reason", ""),
    ("type", "type", ""),
    ("eventTime", "eventTime", None),
    ("action", "action", ""),
    ("related", "related", None),
    ("reportingComponent", "reportingController", ""),
    ("reportingInstance", "reportingInstance", ""),
)
"""For each stored field, its name in the error and its value when unset. Upstream checks `reason` twice."""


def validate_new_update(new: Obj, old: Obj) -> list[FieldError]:
    """Checks an update through events.k8s.io: only the series of an event may change."""
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    if new.get("series") != old.get("series"):
        found += _series(new)
    for key, shown_as, unset in _FIXED:
        value = new.get(key, unset)
        if value != old.get(key, unset):
            found.append(field.invalid(shown_as, _internal(key, value), field.IMMUTABLE))
    return found


_INTERNAL: Final = {
    "involvedObject": ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"),
    "source": ("component", "host"),
}
_INTERNAL["related"] = _INTERNAL["involvedObject"]
_GO_NAMES: Final = {"uid": "UID", "apiVersion": "APIVersion"}


def _internal(key: str, value: Any) -> Any:
    """A structure as Kubernetes prints its internal types: with Go's names, and every field."""
    if key not in _INTERNAL or value is None:
        return value
    return {_GO_NAMES.get(k, k[0].upper() + k[1:]): value.get(k, "") for k in _INTERNAL[key]}
