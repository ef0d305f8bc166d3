"""/scale of custom resources: an autoscaling/v1 Scale, made from the paths that the definition names.

Writing a Scale changes only the number of replicas in the object; the change is then handled like any update,
checks and generation included. Server-side apply to /scale is not offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api import errors, field
from longshore.api.kinds.structural import StructuralStrategy
from longshore.api.resources import Resource
from longshore.api.strategy import Strategy
from longshore.api.structural import scale
from longshore.api.types import Obj, copy_of
from longshore.apiserver.answer import DocumentAnswer, served
from longshore.apiserver.request import body, options, patch_body
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import update as main
from longshore.apiserver.rest.update import key_of, same_name

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import Entry

_SCALE: Final = Resource(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    singular="scale",
    namespaced=True,
    behaviour=Strategy(),
    message="autoscaling/v1.Scale",
)
_COPIED: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def read(api: Api, call: Call) -> DocumentAnswer:
    """GET of the Scale."""
    entry = api.store.get(key_of(call))
    if entry is None:
        raise errors.not_found(call.resource.group, call.resource.plural, call.name)
    return _answer(call.resource, served(call.resource, entry.obj))


def update(api: Api, call: Call) -> DocumentAnswer:
    """PUT of the Scale."""
    wanted = options.write_options(call, "UpdateOptions")
    sent = body.object_of(call, wanted.field_validation, kind=_SCALE.kind, group_version=_SCALE.group_version)
    same_name(call, sent.setdefault("metadata", {}))
    return _write(api, call, _current(api, call), sent, wanted)


def patch(api: Api, call: Call) -> DocumentAnswer:
    """PATCH of the Scale; the object itself is not patched."""
    media_type = (call.content_type or "").partition(";")[0].strip()
    if media_type not in (patch_body.JSON_PATCH, patch_body.MERGE_PATCH):
        raise patch_body.unsupported_format(call.resource)
    wanted = options.write_options(call, "PatchOptions")
    old = _current(api, call)
    new = patch_body.patched(
        _SCALE,
        _shown(call.resource, served(call.resource, old.obj)),
        media_type,
        call.body,
        field_validation=wanted.field_validation,
        warnings=call.warnings,
    )
    return _write(api, call, old, new, wanted)


def _current(api: Api, call: Call) -> Entry:
    entry = api.store.latest(key_of(call))
    if entry is None:
        raise errors.not_found(call.resource.group, call.resource.plural, call.name)
    return entry


def _write(api: Api, call: Call, old: Entry, new: Obj, wanted: options.WriteOptions) -> DocumentAnswer:
    replicas = (new.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        problem = field.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise errors.invalid(_SCALE.group, _SCALE.kind, call.name, [problem])
    obj: Obj = copy_of(served(call.resource, old.obj))
    scale.set_at(obj, _paths(call.resource).spec, replicas)
    if asked := new["metadata"].get("resourceVersion"):
        obj["metadata"]["resourceVersion"] = asked
    whole = Call(
        call.resource,
        "update",
        call.namespace,
        call.name,
        query=call.query,
        user=call.user,
        agent=call.agent,
        warnings=call.warnings,
    )
    answer = main.store_update(api, whole, old, obj, wanted)
    out = _answer(call.resource, answer.view())
    out.staged = answer.staged
    return out


def _answer(resource: Resource, obj: Obj) -> DocumentAnswer:
    document = {"kind": _SCALE.kind, "apiVersion": _SCALE.group_version, **_shown(resource, obj)}
    return DocumentAnswer(document)


def _shown(resource: Resource, obj: Obj) -> Obj:
    """The Scale of an object."""
    paths = _paths(resource)
    meta = obj["metadata"]
    status: Obj = {"replicas": scale.value_at(obj, paths.status) or 0}
    if paths.selector and (selector := scale.value_at(obj, paths.selector)):
        status["selector"] = selector
    return {
        "metadata": {key: meta[key] for key in _COPIED if key in meta},
        "spec": {"replicas": scale.value_at(obj, paths.spec) or 0},
        "status": status,
    }


def _paths(resource: Resource) -> scale.ScalePaths:
    strategy = resource.strategy
    assert isinstance(strategy, StructuralStrategy)
    assert strategy.kind.scale is not None, "rows have /scale only with paths"
    return strategy.kind.scale
