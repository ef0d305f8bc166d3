"""The entries of metadata.managedFields: reading what a client sent, order, and the cap on their number.

An entry is kept as its JSON. Its identity is manager, operation, subresource and, for updates, the API
version; an applier that moves to another version keeps its entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from longshore.api import field
from longshore.api.apply import fieldset
from longshore.api.shape import FieldSet
from longshore.api.types import Obj

Identity: TypeAlias = tuple[str, str, str, str]

_MAX_UPDATERS: Final = 10
_ANCIENT: Final = "ancient-changes"


def identity(entry: Obj) -> Identity:
    """The identity of an entry: manager, operation, apiVersion (empty for appliers), subresource."""
    operation = entry["operation"]
    version = "" if operation == "Apply" else entry["apiVersion"]
    return entry.get("manager", ""), operation, version, entry.get("subresource", "")


def made(
    manager: str, operation: str, api_version: str, fields: FieldSet, time: str, subresource: str
) -> Obj:
    """A new entry, its keys in the order Kubernetes writes them. An empty `time` is left out."""
    entry: Obj = {"manager": manager} if manager else {}
    entry["operation"] = operation
    entry["apiVersion"] = api_version
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if subresource:
        entry["subresource"] = subresource
    return entry


def resets(sent: Any) -> bool:
    """Whether a client asks to forget all managers: `[]` or `[{}]`."""
    return bool(sent == [] or sent == [{}])


def read(sent: Any) -> list[Obj] | None:
    """Entries a client sent, in canonical form; None when one of them is malformed."""
    if not isinstance(sent, list):
        return None
    out: dict[Identity, Obj] = {}
    for entry in sent:
        if (
            not isinstance(entry, dict)
            or entry.get("operation") not in ("Apply", "Update")
            or not entry.get("apiVersion")
            or entry.get("fieldsType") != "FieldsV1"
        ):
            return None
        try:
            fields = fieldset.in_order(fieldset.parsed(entry.get("fieldsV1")))
        except ValueError:
            return None
        out[identity(entry)] = {**entry, "fieldsV1": fields}
    return list(out.values())


def ordered(found: Iterable[Obj]) -> list[Obj]:
    """Sorts entries: appliers before updaters, each by time, then by manager, version and subresource."""
    return sorted(found, key=_place)


def _place(entry: Obj) -> tuple[str, str, str, str, str]:
    get = entry.get
    return (
        entry["operation"],
        get("time") or "",
        get("manager", ""),
        entry["apiVersion"],
        get("subresource", ""),
    )


def capped(found: Sequence[Obj]) -> Sequence[Obj]:
    """At most ten updaters: the oldest of each version are joined into one entry `ancient-changes`."""
    if len(found) <= _MAX_UPDATERS:
        return found
    updaters = [e for e in found if e["operation"] == "Update"]
    surplus = len(updaters) - _MAX_UPDATERS
    if surplus <= 0:
        return found
    updaters.sort(key=lambda e: (e.get("time") or "", identity_text(e)))
    kept = {identity(e): e for e in found}
    first: dict[str, Obj] = {}
    for entry in updaters:
        if surplus <= 0:
            break
        version = entry["apiVersion"]
        if version not in first:
            first[version] = entry
            continue
        bucket = (_ANCIENT, "Update", version, "")
        if bucket not in kept:
            kept[bucket] = kept.pop(identity(first[version]))
        fields = fieldset.union(entry["fieldsV1"], kept[bucket]["fieldsV1"])
        kept[bucket] = made(_ANCIENT, "Update", version, fields, entry.get("time") or "", "")
        if identity(entry) != bucket:
            del kept[identity(entry)]
        surplus -= 1
    return list(kept.values())


def identity_text(entry: Obj) -> str:
    """The identity in upstream's written form, by which conflicts and ties are sorted."""
    manager, operation, version, subresource = identity(entry)
    named = {"manager": manager, "operation": operation, "apiVersion": version, "subresource": subresource}
    return field.json_text({k: v for k, v in named.items() if v})


def shown(entry: Obj) -> str:
    """A manager as messages about conflicts name it: `"kubectl" using batch/v1`."""
    text = field.quoted(entry.get("manager", ""))
    if entry.get("subresource"):
        text += f" with subresource {field.quoted(entry['subresource'])}"
    return text if entry["operation"] == "Apply" else f"{text} using {entry['apiVersion']}"
