"""PATCH: the patched object is stored like an update; a server-side apply may also create."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.api import errors, types
from longshore.apiserver.answer import Answer, served
from longshore.apiserver.request import apply_body, options, patch_body
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest.create import create_object
from longshore.apiserver.rest.update import check_place, key_of, store_update

if TYPE_CHECKING:
    from longshore.apiserver.api import Api


def patch(api: Api, call: Call) -> Answer:
    """Applies the body to the stored object."""
    media_type = (call.content_type or "").partition(";")[0].strip()
    if media_type not in patch_body.FORMATS:
        raise patch_body.unsupported_format(call.resource)
    wanted = options.write_options(call, "PatchOptions")
    if media_type == patch_body.APPLY_PATCH:
        return _apply(api, call, wanted)
    old = api.store.latest(key_of(call))
    if old is None:
        raise errors.not_found(call.resource.group, call.resource.plural, call.name)
    answer = api.shortcuts.patch(api, call, old, media_type, wanted)
    if answer is not None:
        return answer
    new = patch_body.patched(
        call.resource,
        served(call.resource, old.obj),
        media_type,
        call.body if call.value is None else types.encode(call.value),
        field_validation=wanted.field_validation,
        warnings=call.warnings,
    )
    call.resource.strategy.default(new)
    check_place(call, new)
    return store_update(api, call, old, new, wanted)


def _apply(api: Api, call: Call, wanted: options.WriteOptions) -> Answer:
    resource = call.resource
    old = api.store.latest(key_of(call))
    if old is None and call.subresource:
        raise errors.not_found(resource.group, resource.plural, call.name)
    new = apply_body.applied(
        resource,
        served(resource, old.obj) if old is not None else None,
        call.body,
        shape=api.shape(resource),
        manager=wanted.manager,
        force=bool(wanted.force),
        now=api.now(),
        field_validation=wanted.field_validation,
        warnings=call.warnings,
        subresource=call.subresource,
        versions=api.catalog.versions(resource),
    )
    call.resource.strategy.default(new)
    check_place(call, new)
    if old is not None:
        return store_update(api, call, old, new, wanted, applied=True)
    if uid := new["metadata"].get("uid"):
        text = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise errors.conflict(resource.group, resource.plural, call.name, text)
    return create_object(api, call, new, wanted, applied=True)
