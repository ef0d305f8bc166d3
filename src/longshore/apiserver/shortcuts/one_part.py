"""Writes of one part of an object, its status or its finalizers, that leave all else as it is.

Most writes of a busy server are of this sort: a pod's status, a Job's status, a finalizer taken away. Reading
the whole object again and checking unchanged parts costs more than all the rest. The parts that stay are
shared with the stored object, so only kinds whose hooks do not write into them (`Strategy.keeps_parts`) go
this way.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from longshore.api import codec, schema, strategy
from longshore.api.codec import compiled
from longshore.api.patch import merge_patch, strategic
from longshore.api.patch.strategic_lists import DELETE_PREFIX, PatchError
from longshore.api.resources import Resource
from longshore.api.types import Obj, copy_of
from longshore.api.validation import metadata
from longshore.apiserver.answer import Answer, served
from longshore.apiserver.request.patch_body import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from longshore.apiserver.rest import update

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.call import Call
    from longshore.apiserver.request.options import WriteOptions
    from longshore.store import Entry

_STRIP: Final = f"{DELETE_PREFIX}/finalizers"
_NOT_COMPARED: Final = frozenset(("apiVersion", "kind", "metadata", "status"))
"""Parts of an object that may differ, or are compared in another way."""


class OnePart:
    """Writes of a status, and patches of the main resource that take finalizers away. The status of a kind
    without /status is patched as a field of the main resource."""

    relies_on: ClassVar[tuple[str, ...]] = (
        "no hook of a status write writes into the spec it is given (`Strategy.keeps_parts`)",
        "a stored object has passed its checks: what a write leaves alone needs none",
        "defaults of a status follow from the status (`Strategy.default_status`)",
    )
    earns: ClassVar[str] = "70 % of a pod of an Indexed Job, 26 % of a one-pod Job (bench/jobs.py)"

    def update(self, api: Api, call: Call, old: Entry, wanted: WriteOptions) -> Answer | None:
        """Takes a PUT of /status by a caller in this process, if all but the status is as stored."""
        resource, value = call.resource, call.value
        if type(value) is not dict or call.subresource != "status" or not resource.strategy.keeps_parts:
            return None
        current = served(resource, old.obj)
        if not _is_same_but_status(value, current, resource):
            return None
        # Custom kinds keep what is empty, and so the difference between an empty status and none.
        status = value.get("status") or ({} if resource.message else None)
        return _write_status(api, call, old, current, status, wanted)

    def patch(self, api: Api, call: Call, old: Entry, media_type: str, wanted: WriteOptions) -> Answer | None:
        """Takes a (strategic) merge patch that changes only the status, or only removes finalizers."""
        resource = call.resource
        if not resource.strategy.keeps_parts or call.subresource not in ("", "status"):
            return None
        patch = _patch_of(call)
        if type(patch) is not dict:
            return None
        current = served(resource, old.obj)
        if call.subresource or not resource.strategy.has_status:
            change = _status_in(patch, current)
            if type(change) is not dict:
                return None
            status = _merged(resource, current.get("status") or {}, media_type, change)
            return None if status is None else _write_status(api, call, old, current, status, wanted)
        if media_type == STRATEGIC_MERGE_PATCH and resource.message and patch.keys() == {"metadata"}:
            change = patch["metadata"]
            if type(change) is dict and change.keys() == {_STRIP}:
                return _strip(api, call, old, change[_STRIP], wanted)
        return None


def _is_same_but_status(value: Obj, current: Obj, resource: Resource) -> bool:
    """Whether the caller's object equals the stored one, in the same version, apart from its status."""
    meta, stored = value.get("metadata"), current["metadata"]
    if meta is not stored:
        if type(meta) is not dict or meta.get("resourceVersion") != stored["resourceVersion"]:
            return False
        if not metadata.same(meta, stored):
            return False
    if value.get("kind", resource.kind) != resource.kind:
        return False
    if value.get("apiVersion", resource.group_version) != resource.group_version:
        return False
    if value.keys() - _NOT_COMPARED != current.keys() - _NOT_COMPARED:
        return False
    for key, part in value.items():
        if key not in _NOT_COMPARED and part is not current[key] and part != current[key]:
            return False
    return True


def _status_in(patch: Obj, current: Obj) -> Any:
    """The status in a patch of nothing else, except perhaps the object's uid; else None."""
    others = patch.keys() - {"status"}
    if others and (others != {"metadata"} or patch["metadata"] != {"uid": current["metadata"]["uid"]}):
        return None
    return patch.get("status")


def _merged(resource: Resource, before: Obj, media_type: str, change: Obj) -> Any:
    """The status after a patch; None if the long way has to report a problem."""
    if media_type == MERGE_PATCH:
        return merge_patch.merged(before, change)
    if media_type != STRATEGIC_MERGE_PATCH or not resource.message:
        return None
    try:
        return strategic.merged(before, copy_of(change), _status_message(resource.message))
    except PatchError:
        return None


def _write_status(
    api: Api, call: Call, old: Entry, current: Obj, status: Any, wanted: WriteOptions
) -> Answer | None:
    """Writes a new status of an object; None if the status is invalid."""
    resource, kind = call.resource, call.resource.strategy
    if resource.message:
        read = compiled.from_value(status, _status_message(resource.message))
    else:
        read = kind.part("status", status) if type(status) is dict else None
    if read is None:
        return None
    new = {**current, "metadata": dict(current["metadata"]), "status": read}
    kind.default_status(new)
    now = update.own_fields(api, call, current, new, wanted, only="status")
    context = strategy.Context(now, call.subresource, call.user.name)
    if call.subresource:
        kind.prepare_status(new, current, context)
        problems = kind.validate_status(new, current) if api.judges_statuses else []
    else:
        kind.prepare_update(new, current)
        if kind.counts_generation and kind.generation_changed(new, current):
            new["metadata"]["generation"] = current["metadata"].get("generation", 0) + 1
        problems = kind.validate_update(new, current)
    return None if problems else update.stage(api, call, old, new, wanted, shared=True)


def _strip(api: Api, call: Call, old: Entry, gone: Any, wanted: WriteOptions) -> Answer | None:
    """Removes finalizers, which needs no validation."""
    if type(gone) is not list or any(type(finalizer) is not str for finalizer in gone):
        return None
    if call.resource.strategy.converts and served(call.resource, old.obj) is not old.obj:
        return None  # the first change of such an object also stores its defaults
    before = old.obj["metadata"]
    left = [finalizer for finalizer in before.get("finalizers") or () if finalizer not in gone]
    meta = {**before, "finalizers": left}
    if not left:
        del meta["finalizers"]
    new = {**old.obj, "metadata": meta}
    update.own_fields(api, call, old.obj, new, wanted, only="metadata")
    return update.stage(api, call, old, new, wanted, shared=True)


def _patch_of(call: Call) -> Any:
    """The patch, if it is a value or JSON without problems; else None."""
    if call.value is not None:
        return call.value
    try:
        document = codec.plain_json(call.body)
    except codec.DecodeError:
        return None
    return None if document.problems else document.value


@cache
def _status_message(of: str) -> str:
    return schema.message(of).fields["status"].type.name
