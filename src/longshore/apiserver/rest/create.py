"""POST: decode, default, name, admit, validate, stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api import errors, metadata_order, strategy
from longshore.api.apply import managed
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.apiserver.access import escalation, pod_rights, queue_commands
from longshore.apiserver.answer import Answer
from longshore.apiserver.request import body, options
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import admission, versions
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.call import Call


_SERVER_SET: Final = frozenset((
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
))  # fmt: skip


def create(api: Api, call: Call) -> Answer:
    """Creates the object in the request's body."""
    wanted = options.write_options(call, "CreateOptions")
    answer = api.shortcuts.create(api, call, wanted)
    if answer is not None:
        return answer
    obj = body.object_of(call, wanted.field_validation)
    call.resource.strategy.default(obj)
    answer = create_object(api, call, obj, wanted)
    api.shortcuts.created(api, call, obj)
    return answer


def create_object(
    api: Api, call: Call, obj: Obj, wanted: options.WriteOptions, *, applied: bool = False
) -> Answer:
    """Creates a decoded and defaulted object. An `applied` one has its managedFields already."""
    resource, kind = call.resource, call.resource.strategy
    meta = obj.setdefault("metadata", {})
    place(call, meta)
    if "ownerReferences" in meta:
        call.warn(metadata.drop_duplicate_owners(meta))
    if not applied and api.owns_fields:
        managed.after_update(
            obj,
            None,
            manager=wanted.manager,
            api_version=resource.group_version,
            shape=api.shape(resource),
            now=api.now(),
            subresource="",
        )
    obj = to_stored(call, obj)
    meta = obj["metadata"]
    admission.namespace_is_open(api, call, obj)
    api.catalog.check_open(resource)
    admission.mutate_create(api, call, obj)
    escalation.check(api, call, obj)
    if "ownerReferences" in meta:
        call.warn(metadata.drop_duplicate_owners(meta))
    asked_version = meta.pop("resourceVersion", None)
    generated = not meta.get("name") and bool(meta.get("generateName"))
    _fill(api, call, meta, counts_generation=kind.counts_generation)
    context = strategy.Context(api.now(), call.subresource, call.user.name)
    kind.prepare_create(obj, context)
    problems = metadata.validate_create(
        meta,
        namespaced=resource.namespaced,
        name_rule=kind.name_rule,
        short_finalizers=resource.style == "custom",
    )
    problems += kind.validate_create(obj)
    if problems:
        raise errors.invalid(resource.storage_group, resource.kind, meta.get("name", ""), problems)
    queue_commands.check(api, call, obj)
    pod_rights.check(api, call, obj)
    call.warn(kind.warnings_create(obj))
    if call.verb != "create":
        api.authorizer.check(call, "create")  # a PUT or an apply that finds nothing to change
    admission.judge_create(api, call, obj)
    charged = admission.charge(api, call, obj)
    if not applied and versions.is_set(asked_version):
        raise errors.StatusError(500, "", "resourceVersion should not be set on objects to be created")
    key = Key(resource.storage, call.namespace, meta["name"])
    existing = api.store.latest(key)
    if existing is not None:
        deleting = "deletionTimestamp" in existing.obj["metadata"]
        raise _exists(call, meta["name"], deleting=deleting, generated=generated)
    if wanted.dry_run:
        obj["metadata"] = metadata_order.ordered(meta)
        return Answer(resource, obj=obj, code=201)
    api.store.check_room()
    obj["metadata"] = metadata_order.ordered({**meta, "resourceVersion": ""})
    staged = charged.stage(api)
    last = api.stage_new(key, obj, joined=bool(staged))
    return Answer(resource, entry=last.entry, code=201, staged=[*staged, last])


def place(call: Call, meta: Obj) -> None:
    """Makes the body's namespace agree with the request's, or refuses."""
    if not call.resource.namespaced:
        meta.pop("namespace", None)
        return
    asked = meta.get("namespace", "")
    if asked and asked != call.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = call.namespace


def to_stored(call: Call, obj: Obj) -> Obj:
    """The stored form of a served object. Objects of kinds with one form are returned unchanged."""
    kind = call.resource.strategy
    return kind.to_storage(obj) if kind.converts else obj


def _fill(api: Api, call: Call, meta: Obj, *, counts_generation: bool) -> None:
    """Sets what only the server may set: name from generateName, uid, creation time, generation."""
    for name in meta.keys() & _SERVER_SET:
        del meta[name]
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = free_name(api, call, meta["generateName"])
    meta["uid"] = api.new_uid()
    meta["creationTimestamp"] = api.now()
    if counts_generation:
        meta["generation"] = 1
    else:
        meta.pop("generation", None)


def _exists(call: Call, name: str, *, deleting: bool, generated: bool) -> errors.StatusError:
    resource = call.resource
    error = errors.already_exists(resource.group, resource.plural, name)
    if generated:
        text = error.message + ", the server was not able to generate a unique name for the object"
        details = dict(error.details or {}, retryAfterSeconds=1)
        return errors.StatusError(409, "AlreadyExists", text, details=details)
    if deleting:
        error.message = "object is being deleted: " + error.message
    return error


# ---- Generates names for objects that have only a generateName.

MAX_PREFIX_CHARACTERS: Final = 58
"""Characters of a generateName that go into the name: 63 of a label, less the random suffix."""
ANY_SUFFIX: Final = "xxxxx"
"""A stand-in with the length and letters of a random suffix."""
_MAX_TRIES: Final = 8  # as many as upstream makes before it gives up on a generateName


def free_name(api: Api, call: Call, prefix: str) -> str:
    """A random name that begins with `prefix`. It is free, unless all 8 tries gave names in use."""
    stem = prefix[:MAX_PREFIX_CHARACTERS]
    name = stem
    for _ in range(_MAX_TRIES):
        name = stem + api.suffix()
        if api.store.latest(Key(call.resource.storage, call.namespace, name)) is None:
            return name
    return name
