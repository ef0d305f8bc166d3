"""PUT, and the common end of every change to an existing object (patches, status, subresources)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.api import errors, field, metadata_order, strategy
from longshore.api.apply import managed
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.apiserver.access import escalation, pod_rights, queue_commands
from longshore.apiserver.answer import Answer, served
from longshore.apiserver.request import body, options
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import admission, versions
from longshore.apiserver.rest.create import create_object, place, to_stored
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import Entry, Staged


def update(api: Api, call: Call) -> Answer:
    """Replaces an object with the one in the body; `/status` replaces the status alone."""
    wanted = options.write_options(call, "UpdateOptions")
    resource = call.resource
    old = api.store.latest(key_of(call))
    answer = api.shortcuts.update(api, call, old, wanted)
    if answer is not None:
        return answer
    obj = body.object_of(call, wanted.field_validation)
    resource.strategy.default(obj)
    check_place(call, obj)
    if old is None:
        if resource.strategy.create_on_update and not call.subresource:
            return _create(api, call, obj, wanted)
        raise errors.not_found(resource.group, resource.plural, call.name)
    check_preconditions(call, obj["metadata"], old)
    return store_update(api, call, old, obj, wanted)


def _create(api: Api, call: Call, obj: Obj, wanted: options.WriteOptions) -> Answer:
    """Creates the object that a PUT did not find. Refuses a body with a uid; ignores a resourceVersion."""
    meta = obj["metadata"]
    if asked := meta.get("uid"):
        raise _other_uid(call, asked, "")
    meta.pop("resourceVersion", None)
    return create_object(api, call, obj, wanted)


def key_of(call: Call) -> Key:
    return Key(call.resource.storage, call.namespace, call.name)


def check_place(call: Call, obj: Obj) -> None:
    """Raises a 400 unless the object is the one that the URL names."""
    meta = obj.setdefault("metadata", {})
    same_name(call, meta)
    place(call, meta)


def same_name(call: Call, meta: Obj) -> None:
    """Raises a 400 unless the body has the URL's name; an empty name is refused, too, as upstream does."""
    name = meta.get("name", "")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        )
    if name != call.name:
        raise errors.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )


def check_preconditions(call: Call, meta: Obj, old: Entry) -> None:
    """Raises a 409 if a PUT names another uid than that of the stored object."""
    asked, found = meta.get("uid"), old.obj["metadata"]["uid"]
    if asked and asked != found:
        raise _other_uid(call, asked, found)


def _other_uid(call: Call, asked: str, found: str) -> errors.StatusError:
    """The 409 for another uid, in the words of upstream's storage."""
    resource = call.resource
    key = "/".join(p for p in ("/registry", resource.plural, call.namespace, call.name) if p)
    text = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {asked}, UID in object meta: {found}"
    )
    return errors.conflict(resource.group, resource.plural, call.name, text)


def precondition_failed(call: Call, what: str, asked: str, found: str) -> errors.StatusError:
    """A 409 for a uid or resourceVersion that the client insisted on."""
    why = {
        "UID": "The object might have been deleted and then recreated",
        "ResourceVersion": "The object might have been modified",
    }[what]
    text = f"the {what} in the precondition ({asked}) does not match the {what} in record ({found}). {why}"
    return errors.conflict(call.resource.group, call.resource.kind, call.name, text)


def store_update(
    api: Api,
    call: Call,
    old: Entry,
    new: Obj,
    wanted: options.WriteOptions,
    *,
    applied: bool = False,
) -> Answer:
    """Brings a changed object into the store: lock, managedFields, hooks, checks, stage.

    `new` is in served form, decoded and defaulted; an `applied` one has its managedFields already.
    """
    resource, kind = call.resource, call.resource.strategy
    meta, old_meta = new["metadata"], old.obj["metadata"]
    call.warn(metadata.drop_duplicate_owners(meta))
    asked = meta.get("resourceVersion")
    if not applied:
        own_fields(api, call, served(resource, old.obj), new, wanted)
    escalation.check(api, call, new, old.obj)
    check_version(call, asked, old)
    new = to_stored(call, new)
    meta = new["metadata"]
    meta["resourceVersion"] = str(old.revision)
    admission.mutate_update(call, new, old.obj, applied=applied)
    _keep_system_fields(meta, old_meta)
    context = strategy.Context(api.now(), call.subresource, call.user.name)
    problems = _prepare(call, new, old.obj, context)
    if problems:
        raise errors.invalid(resource.storage_group, resource.kind, call.name, problems)
    queue_commands.check(api, call, new)
    pod_rights.check(api, call, new, old.obj)
    if not call.subresource:
        call.warn(kind.warnings_update(new, old.obj))
    admission.judge_update(api, call, new, old.obj)
    return stage(api, call, old, new, wanted)


def own_fields(
    api: Api, call: Call, before: Obj, new: Obj, wanted: options.WriteOptions, *, only: str = ""
) -> str:
    """Records in managedFields the fields that this write sets and takes from other managers. Returns the
    time of the write. `only` names the one part of the object that can differ."""
    resource, now = call.resource, api.now()
    if not api.owns_fields:
        return now
    managed.after_update(
        new,
        before,
        manager=wanted.manager,
        api_version=resource.group_version,
        shape=api.shape(resource),
        now=now,
        subresource=call.subresource,
        versions=api.catalog.versions(resource),
        only=only,
    )
    return now


def stage(
    api: Api, call: Call, old: Entry, new: Obj, wanted: options.WriteOptions, *, shared: bool = False
) -> Answer:
    """Stages a checked change, unless nothing has changed. Removes a terminating object that is finished.
    `shared` says that unchanged parts are already those of the stored object."""
    resource, before = call.resource, old.obj
    new["metadata"] = metadata_order.ordered(new["metadata"])
    if resource.message and not shared:
        _share_parts(new, before)
    if managed.only_times_differ(new, before):
        return Answer(resource, entry=old)
    charged = admission.charge_update(api, call, new, before)
    if wanted.dry_run:
        return Answer(resource, obj=new)
    if is_finished(call, new):
        return Answer(resource, obj=new, staged=remove(api, call, old.key))
    staged = charged.stage(api)
    written = api.store.stage_update(old, new, joined=bool(staged))
    return Answer(
        resource, entry=written.entry, staged=[*staged, written, *admission.set_right(api, call, new)]
    )


def _share_parts(new: Obj, before: Obj) -> None:
    """Replaces unchanged parts by those of the stored object, which keeps one copy and the order of keys."""
    for part, value in new.items():
        known = before.get(part)
        if value is not known and part != "metadata" and value == known:
            new[part] = known


def remove(api: Api, call: Call, key: Key, *, joined: bool = False) -> list[Staged]:
    """Takes an object out of the store, `joined` with the write before. Watchers see its last stored state,
    as upstream shows it."""
    last = api.store.latest(key)
    assert last is not None, "only what is stored can be removed"
    gone = {**last.obj, "metadata": dict(last.obj["metadata"])}
    staged = admission.release(api, call, last.obj, joined=joined)
    return [*staged, api.store.stage_delete(key, gone, joined=joined or bool(staged))]


def check_version(call: Call, asked: str | None, old: Entry) -> None:
    """Raises unless the object's resourceVersion is the stored one. Most kinds may leave it out, or say 0."""
    if asked == old.obj["metadata"]["resourceVersion"]:
        return
    resource = call.resource
    try:
        version = versions.number(asked) if asked else 0
    except ValueError as error:
        raise errors.StatusError(500, "", str(error)) from None
    if not version and not resource.strategy.unconditional_update:
        problem = field.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise errors.invalid(resource.group, resource.plural, call.name, [problem])
    if version not in (0, old.revision):
        raise errors.conflict(resource.group, resource.plural, call.name, errors.MODIFIED)


def is_finished(call: Call, obj: Obj) -> bool:
    """Whether a terminating object has nothing left to wait for, so that this write removes it."""
    meta = obj["metadata"]
    return (
        "deletionTimestamp" in meta
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
        and not call.resource.strategy.holds(obj)
    )


def _prepare(call: Call, new: Obj, old: Obj, context: strategy.Context) -> list[field.FieldError]:
    """Runs the kind's hooks for this path and returns what is wrong with the result."""
    kind, meta = call.resource.strategy, new["metadata"]
    if call.subresource == "status":
        kind.prepare_status(new, old, context)
    elif call.subresource:
        kind.prepare_subresource(new, old, context)
    else:
        kind.prepare_update(new, old)
    if not call.subresource and kind.counts_generation and kind.generation_changed(new, old):
        meta["generation"] = old["metadata"].get("generation", 0) + 1
    problems = metadata.validate_update(meta, old["metadata"])
    if call.subresource == "status":
        return problems + kind.validate_status(new, old)
    if call.subresource and kind.validate_subresource is not None:
        return problems + kind.validate_subresource(new, old, context)
    return problems + kind.validate_update(new, old)


def _keep_system_fields(meta: Obj, old: Obj) -> None:
    """Restores from the stored object the fields that no update can change; another uid is an error."""
    for name in ("creationTimestamp", "generation", "selfLink"):
        if name in old:
            meta[name] = old[name]
        else:
            meta.pop(name, None)
    if not meta.get("uid"):
        meta["uid"] = old["uid"]
    if "deletionTimestamp" in old:
        meta["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old and "deletionGracePeriodSeconds" not in meta:
        meta["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]
