"""pods/binding and the older bindings collection: a pod gets its node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api.kinds import pod_binding
from longshore.api.types import Obj
from longshore.apiserver.answer import DocumentAnswer
from longshore.apiserver.request import body, options
from longshore.apiserver.request.call import Call
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

SUCCESS: Final[Obj] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def bind(api: Api, call: Call) -> DocumentAnswer:
    """POST …/pods/x/binding."""
    wanted, binding = _read(call)
    return _bind(api, call, binding, wanted, call.name)


def bind_through_collection(api: Api, call: Call) -> DocumentAnswer:
    """POST …/bindings, where the binding has the name of the pod."""
    wanted, binding = _read(call)
    return _bind(api, call, binding, wanted, (binding.get("metadata") or {}).get("name", ""))


def _read(call: Call) -> tuple[options.WriteOptions, Obj]:
    wanted = options.write_options(call, "CreateOptions")
    return wanted, body.object_of(call, wanted.field_validation, kind="Binding", group_version="v1")


def _bind(api: Api, call: Call, binding: Obj, wanted: options.WriteOptions, name: str) -> DocumentAnswer:
    key = Key("pods", call.namespace, name)
    entry = api.store.latest(key)
    bound = pod_binding.bind(
        entry.obj if entry else None, binding, namespace=call.namespace, name=name, now=api.now()
    )
    if wanted.dry_run:
        return DocumentAnswer(SUCCESS, code=201)
    return DocumentAnswer(SUCCESS, code=201, staged=[api.store.stage(key, bound)])
