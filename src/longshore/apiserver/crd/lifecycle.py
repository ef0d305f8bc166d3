"""The consequences of a write to a definition, or to an object of one that is being deleted.

All consequences are staged together with the write itself: when a create is answered, the names are accepted
and objects can be created. The answer shows the definition as it was written. Its conditions are a second
change, which watchers see, as with upstream's controllers. Deleting a definition deletes its objects: the
first ones here, the others in slices (`clearing`). An object with a finalizer also keeps its definition; the
write that removes the last such object removes the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api.kinds import table
from longshore.api.kinds.customresourcedefinition import CLEANUP
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.catalog import DEFINITIONS, definition_key
from longshore.apiserver.crd import naming, rows
from longshore.apiserver.request import options
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import delete
from longshore.store import Key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longshore.apiserver.answer import Rendered
    from longshore.apiserver.api import Api
    from longshore.store import Entry, Staged

SLICE_OBJECTS: Final = 128
"""Objects of a definition that are deleted in one turn of the loop: about 10 ms."""
_IN_PROGRESS: Final = ("InstanceDeletionInProgress", "CustomResource deletion is in progress")


def follow_up(api: Api, call: Call, answer: Rendered) -> None:
    """Stages what a write to a custom kind or a definition entails, and adds it to the answer's writes."""
    if not answer.staged:
        return
    if call.resource.storage == DEFINITIONS:
        _after_definition(api, answer)
        return
    entry = api.store.latest(definition_key(call.resource))
    if entry is not None and is_going(entry):
        answer.staged += let_go(api, entry)
        api.catalog.expect(answer.staged[-1].entry.revision)


def _after_definition(api: Api, answer: Rendered) -> None:
    for group in dict.fromkeys(_group(staged.entry.key) for staged in answer.staged):
        for entry in _definitions(api, group):
            if is_going(entry):
                answer.staged += _clear(api, entry)
        # A name that one definition gives up may be what another one waits for; the oldest gets it.
        for entry in sorted(_definitions(api, group), key=lambda e: e.revision):
            answer.staged += _settle(api, entry)
    api.catalog.expect(answer.staged[-1].entry.revision)


def _settle(api: Api, entry: Entry) -> list[Staged]:
    """Gives a definition the names that are free."""
    crd = entry.obj
    if "deletionTimestamp" in crd["metadata"]:
        return []
    taken = naming.Taken()
    group = _group(entry.key)
    for row in table.RESOURCES:
        if row.group == group:
            taken.add_row(row)
    for other in _definitions(api, group):
        if other.key != entry.key:
            taken.add_names(other.obj["status"].get("acceptedNames") or {})
    status = naming.new_status(crd, taken, api.now())
    return [] if status is None else [_stage(api, entry.key, {**crd, "status": status})]


def _definitions(api: Api, group: str) -> list[Entry]:
    return [e for e in api.store.latest_list(DEFINITIONS) if _group(e.key) == group]


def _group(key: Key) -> str:
    """The group of a definition, which is part of its name."""
    return key.name.partition(".")[2]


def is_going(entry: Entry) -> bool:
    """Whether a definition is being deleted and waits for its objects."""
    meta = entry.obj["metadata"]
    return "deletionTimestamp" in meta and CLEANUP in (meta.get("finalizers") or ())


def _clear(api: Api, entry: Entry) -> list[Staged]:
    """Deletes a definition's first objects, and leaves the others to `clearing`."""
    found = objects(api, entry.obj)
    staged = delete_objects(api, entry.obj, found[:SLICE_OBJECTS])
    if len(found) > SLICE_OBJECTS:
        api.has_uncleared.set()
    return staged + let_go(api, entry)


def let_go(api: Api, entry: Entry) -> list[Staged]:
    """Removes a definition without objects; else sets the condition that deletion is in progress."""
    crd = entry.obj
    if objects(api, crd):
        status = naming.terminating(crd, *_IN_PROGRESS, api.now())
        return [] if status == crd.get("status") else [_stage(api, entry.key, {**crd, "status": status})]
    meta = dict(crd["metadata"])
    meta["finalizers"] = [f for f in meta["finalizers"] if f != CLEANUP]
    if meta["finalizers"]:
        return [_stage(api, entry.key, {**crd, "metadata": meta})]
    return [api.store.stage_delete(entry.key, {**crd, "metadata": dict(crd["metadata"])})]


def delete_objects(api: Api, crd: Obj, entries: Sequence[Entry]) -> list[Staged]:
    """Deletes these objects, except those that are gone or being deleted already."""
    row = _any_row(crd)
    staged: list[Staged] = []
    if row is None:
        return staged
    wanted = options.delete_options({"propagationPolicy": "Background"})
    for entry in entries:
        latest = api.store.latest(entry.key)
        if latest is not None and "deletionTimestamp" not in latest.obj["metadata"]:
            one = Call(row, "delete", entry.key.namespace, entry.key.name)
            staged += delete.delete_entry(api, one, latest, wanted).staged
    return staged


def _any_row(crd: Obj) -> Resource | None:
    """The row of any version, served or not, for deleting objects."""
    versions = [{**v, "served": True} for v in crd["spec"]["versions"]]
    found = rows.rows({**crd, "spec": {**crd["spec"], "versions": versions}})
    return found[0] if found else None


def objects(api: Api, crd: Obj) -> list[Entry]:
    """The objects of a definition."""
    names = (crd.get("status") or {}).get("acceptedNames") or {}
    if not names.get("plural"):
        return []
    return api.store.latest_list(f"{crd['spec']['group']}/{names['plural']}")


def _stage(api: Api, key: Key, crd: Obj) -> Staged:
    return api.store.stage(key, {**crd, "metadata": dict(crd["metadata"])})
