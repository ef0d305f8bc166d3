"""DELETE of one object or a collection: preconditions, propagation, finalizers, grace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api import errors
from longshore.api.facts import pod_state
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.apiserver.answer import Answer, DocumentAnswer, ListAnswer
from longshore.apiserver.request import delete_options, options
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import admission
from longshore.apiserver.rest.list import list_whole
from longshore.apiserver.rest.update import key_of, precondition_failed, remove

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import Entry, Staged

_SLICE_ENTRIES: Final = 128
"""Objects of a collection that are deleted in one turn of the loop: about 10 ms."""
_MAX_GRACE_SECONDS: Final = 2**63 // SECOND
"""The longest duration of Go, 292 years. A time after the year 9999 could be written, but no client could
read it, nor any list with such a pod."""
_GC_FINALIZERS: Final = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}
ORPHAN_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
    "them or set propagationPolicy=Orphan to suppress this warning"
)


class Outcome(msgspec.Struct):
    """The result of a delete: the object as it is now, whether it is gone, and the writes to wait for."""

    obj: Obj
    removed: bool
    staged: list[Staged] = msgspec.field(default_factory=list)


def delete(api: Api, call: Call) -> Answer | DocumentAnswer:
    """Deletes one object, at once or by marking it."""
    wanted = _options(call)
    _warn_of_orphans(call, wanted)
    entry = api.store.latest(key_of(call))
    if entry is None:
        raise errors.not_found(call.resource.group, call.resource.plural, call.name)
    outcome = delete_entry(api, call, entry, wanted)
    resource = call.resource
    if outcome.removed and not resource.strategy.delete_answers_object:
        details: Obj = {"name": call.name}
        if resource.group:
            details["group"] = resource.group
        details |= {"kind": resource.plural, "uid": entry.obj["metadata"]["uid"]}
        document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }
        return DocumentAnswer(document, staged=outcome.staged)
    code = 202 if not outcome.removed and wanted.orphan_dependents is False else 200
    return Answer(resource, obj=outcome.obj, code=code, staged=outcome.staged)


async def delete_collection(
    api: Api, call: Call, follow_up: Callable[[Api, Call, ListAnswer], None] | None
) -> ListAnswer:
    """Deletes all objects that the selectors match and answers with their list, once that is durable.

    Works in slices, so that a large collection holds up no other request; as upstream, it is no transaction.
    `follow_up` is called after each slice.
    """
    wanted = _options(call)
    found = await list_whole(api, call)
    _warn_of_orphans(call, wanted)
    last: list[Staged] = []
    for at in range(0, len(found.entries), _SLICE_ENTRIES):
        found.staged = _delete_slice(api, call, found.entries[at : at + _SLICE_ENTRIES], wanted)
        if found.staged:
            if follow_up is not None:
                follow_up(api, call, found)
            last.append(found.staged[-1])
        await asyncio.sleep(0)
    for staged in last:  # if a slice fails, only the writes staged before that fail with it
        await staged.done()
    found.staged = []
    return found


def _delete_slice(
    api: Api, call: Call, entries: Sequence[Entry], wanted: options.DeleteOptions
) -> list[Staged]:
    staged: list[Staged] = []
    for entry in entries:
        latest = api.store.latest(entry.key)
        if latest is not None:
            where = entry.key
            one = Call(call.resource, "delete", where.namespace, where.name, user=call.user, agent=call.agent)
            staged += delete_entry(api, one, latest, wanted).staged
    return staged


def _options(call: Call) -> options.DeleteOptions:
    return options.delete_options(delete_options.options_from(call.body, call.content_type, call.query))


def _warn_of_orphans(call: Call, wanted: options.DeleteOptions) -> None:
    chosen = wanted.policy is not None or wanted.orphan_dependents is not None
    if call.resource.storage == "batch/jobs" and not chosen:
        call.warn([ORPHAN_WARNING])


def delete_entry(api: Api, call: Call, entry: Entry, wanted: options.DeleteOptions) -> Outcome:
    """Deletes one stored object. `PlaneParts.on_delete` is called for the first request to delete it."""
    outcome = _delete(api, call, entry, wanted)
    asked_before = "deletionTimestamp" in entry.obj["metadata"]
    if api.plane.on_delete is not None and not asked_before and not wanted.dry_run:
        api.plane.on_delete(call, entry.obj)
    return outcome


def _delete(api: Api, call: Call, entry: Entry, wanted: options.DeleteOptions) -> Outcome:
    old = entry.obj
    check_preconditions(call, entry, wanted)
    call.resource.strategy.check_deletable(old)
    admission.check_delete(api, call)
    if "deletionTimestamp" in old["metadata"] and call.resource.strategy.holds(old):
        return Outcome(old, False)
    obj: Obj = {**old, "metadata": dict(old["metadata"])}
    grace = _grace(call, obj, wanted)
    if call.resource.strategy.graceful and grace > 0:
        return _delete_gracefully(api, call, entry, obj, grace, wanted)
    _set_gc_finalizer(call, obj["metadata"], wanted)
    stays = bool(obj["metadata"].get("finalizers")) or call.resource.strategy.holds(obj)
    _mark(api, call, obj, grace=0)
    if stays:
        return _stage(api, entry, obj, wanted)
    graceful = call.resource.strategy.graceful
    if wanted.dry_run:
        return Outcome(obj if graceful else old, True)
    staged: list[Staged] = []
    if graceful and obj != entry.obj:
        staged.append(api.store.stage(entry.key, obj))
    staged += remove(api, call, entry.key, joined=bool(staged))
    return Outcome(obj if graceful else staged[-1].entry.obj, True, staged)


def check_preconditions(call: Call, entry: Entry, wanted: options.DeleteOptions) -> None:
    uid = entry.obj["metadata"]["uid"]
    if wanted.uid is not None and wanted.uid != uid:
        raise precondition_failed(call, "UID", wanted.uid, uid)
    if wanted.revision is not None and wanted.revision != str(entry.revision):
        raise precondition_failed(call, "ResourceVersion", wanted.revision, str(entry.revision))


def _set_gc_finalizer(call: Call, meta: Obj, wanted: options.DeleteOptions) -> None:
    """Translates the propagation policy into the garbage collector's finalizer."""
    finalizers: list[str] = meta.get("finalizers") or []
    policy: str
    if not call.resource.strategy.can_own:
        policy = "Background"
    elif wanted.orphan_dependents is not None:
        policy = "Orphan" if wanted.orphan_dependents else "Background"
    elif wanted.policy is not None:
        policy = wanted.policy
    elif "orphan" in finalizers:
        policy = "Orphan"
    elif "foregroundDeletion" in finalizers:
        policy = "Foreground"
    else:
        policy = call.resource.strategy.default_propagation
    kept = [f for f in finalizers if f not in _GC_FINALIZERS.values()]
    if policy in _GC_FINALIZERS:
        kept.append(_GC_FINALIZERS[policy])
    if kept:
        meta["finalizers"] = kept
    else:
        meta.pop("finalizers", None)


def _grace(call: Call, obj: Obj, wanted: options.DeleteOptions) -> int:
    """Seconds a pod may take to stop; 0 for every other kind. A pod that is being stopped keeps its grace
    period, even if it has ended since, unless the client names another."""
    if not call.resource.strategy.graceful:
        return 0
    spec = obj.get("spec") or {}
    given = obj["metadata"].get("deletionGracePeriodSeconds")
    if not given and (not spec.get("nodeName") or pod_state.has_ended(obj)):
        return 0
    own = given or spec.get("terminationGracePeriodSeconds", 0)
    grace = own if wanted.grace is None else wanted.grace
    return 1 if grace < 0 else min(int(grace), _MAX_GRACE_SECONDS)


def _delete_gracefully(
    api: Api, call: Call, entry: Entry, obj: Obj, grace: int, wanted: options.DeleteOptions
) -> Outcome:
    """Starts or shortens a grace period. The node ends it with a delete of grace 0."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta:
        _set_gc_finalizer(call, meta, wanted)
        _mark(api, call, obj, grace=grace)
        return _stage(api, entry, obj, wanted)
    old_grace = meta.get("deletionGracePeriodSeconds") or 0
    if grace >= old_grace:
        return Outcome(entry.obj, False)
    ends, now = rfc3339.parse(meta["deletionTimestamp"]) // SECOND + grace - old_grace, api.seconds()
    if ends < now:
        ends, grace = now, 1
    meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = rfc3339.from_seconds(ends), grace
    return _stage(api, entry, obj, wanted)


def _mark(api: Api, call: Call, obj: Obj, *, grace: int) -> None:
    """Sets deletionTimestamp and the fields that go with it; a second mark only shortens the grace."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = rfc3339.from_seconds(api.seconds() + grace)
        if call.resource.strategy.counts_generation and meta.get("generation"):
            meta["generation"] += 1
        call.resource.strategy.begin_deletion(obj)
    elif call.resource.strategy.graceful and meta.get("deletionGracePeriodSeconds"):
        meta["deletionTimestamp"] = api.now()
    if call.resource.strategy.marks_grace:
        meta["deletionGracePeriodSeconds"] = grace


def _stage(api: Api, entry: Entry, obj: Obj, wanted: options.DeleteOptions) -> Outcome:
    if obj == entry.obj:
        return Outcome(entry.obj, False)
    if wanted.dry_run:
        return Outcome(obj, False)
    staged = api.store.stage(entry.key, obj)
    return Outcome(staged.entry.obj, False, [staged])
