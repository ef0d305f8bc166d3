"""Decides which of its requested names a definition gets, and sets the conditions that report it.

Names are unique within a group: plural, singular and short names among each other, kinds and list kinds among
each other. A definition keeps the names it has, and gets no name that another one has. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from longshore.api.field import quoted
from longshore.api.resources import Resource
from longshore.api.types import Obj


class Taken(msgspec.Struct):
    """Names in use in one group."""

    resources: set[str] = msgspec.field(default_factory=set)
    kinds: set[str] = msgspec.field(default_factory=set)

    def add_row(self, row: Resource) -> None:
        self.resources.update((row.plural, row.singular, *row.short_names))
        self.kinds.update((row.kind, row.list_kind))

    def add_names(self, names: Obj) -> None:
        self.resources.update((names.get("plural", ""), names.get("singular", "")))
        self.resources.update(names.get("shortNames") or ())
        self.kinds.update((names.get("kind", ""), names.get("listKind", "")))


def new_status(crd: Obj, taken: Taken, now: str) -> Obj | None:
    """The status that a definition gets; None if it has it. `taken` are names of other definitions."""
    status: Obj = crd.get("status") or {}
    wanted, had = crd["spec"]["names"], status.get("acceptedNames") or {}
    accepted, conflict = _accept(wanted, had, taken)
    conditions = [dict(c) for c in status.get("conditions") or ()]
    if conflict is None:
        _set(conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
        _set(conditions, "Established", "True", "InitialNamesAccepted", _ACCEPTED, now)
    else:
        _set(conditions, "NamesAccepted", "False", *conflict, now)
        if not any(c["type"] == "Established" for c in conditions):
            _set(conditions, "Established", "False", "NotAccepted", "not all names are accepted", now)
    new = {**status, "conditions": conditions, "acceptedNames": accepted}
    return None if new == status else new


_ACCEPTED = "the initial names have been accepted"


def terminating(crd: Obj, reason: str, message: str, now: str) -> Obj:
    """The status of a definition whose objects are being cleared away."""
    status: Obj = crd.get("status") or {}
    conditions = [dict(c) for c in status.get("conditions") or ()]
    _set(conditions, "Terminating", "True", reason, message, now)
    return {**status, "conditions": conditions}


def _accept(wanted: Obj, had: Obj, taken: Taken) -> tuple[Obj, tuple[str, str] | None]:
    """The names that the definition gets, and the last conflict: (reason, message)."""
    accepted: Obj = dict(had)
    conflict: tuple[str, str] | None = None
    for word, reason, used in (
        ("plural", "PluralConflict", taken.resources),
        ("singular", "SingularConflict", taken.resources),
        ("shortNames", "ShortNamesConflict", taken.resources),
        ("kind", "KindConflict", taken.kinds),
        ("listKind", "ListKindConflict", taken.kinds),
    ):
        clashing = _clashing(wanted.get(word), had.get(word), used)
        if clashing:
            conflict = (reason, _in_use(clashing))
        elif word in wanted:
            accepted[word] = wanted[word]
        else:
            accepted.pop(word, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    else:
        accepted.pop("categories", None)
    return accepted, conflict


def _clashing(wanted: Any, had: Any, used: set[str]) -> list[str]:
    if wanted is None or wanted == had:
        return []
    names: Iterable[str] = [wanted] if isinstance(wanted, str) else wanted
    own = () if had is None or isinstance(had, str) else had
    return [name for name in names if name in used and name not in own]


def _in_use(names: list[str]) -> str:
    texts = [f"{quoted(name)} is already in use" for name in names]
    return texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"


def _set(conditions: list[Obj], type_: str, status: str, reason: str, message: str, now: str) -> None:
    """Sets one condition in place; its lastTransitionTime changes only if its status does."""
    new = {"type": type_, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    for index, old in enumerate(conditions):
        if old["type"] == type_:
            if old["status"] == status:
                new["lastTransitionTime"] = old.get("lastTransitionTime", now)
            conditions[index] = new
            return
    conditions.append(new)
