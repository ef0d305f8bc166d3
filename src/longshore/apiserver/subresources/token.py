"""serviceaccounts/token: a TokenRequest answered with a fresh token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api import errors, field
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.apiserver.answer import DocumentAnswer
from longshore.apiserver.request import body, options
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest.update import key_of

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_DEFAULT_SECONDS: Final = 3600
_MIN_SECONDS: Final = 600
_MAX_SECONDS: Final = 1 << 32


def token(api: Api, call: Call) -> DocumentAnswer:
    """Issues a token for the service account in the path."""
    wanted = options.write_options(call, "CreateOptions")
    request = body.object_of(
        call, wanted.field_validation, kind="TokenRequest", group_version="authentication.k8s.io/v1"
    )
    account = api.store.get(key_of(call))
    if account is None:
        raise errors.not_found(call.resource.group, call.resource.plural, call.name)
    spec = request.setdefault("spec", {})
    seconds = spec.get("expirationSeconds")
    if seconds is None:
        seconds = spec["expirationSeconds"] = _DEFAULT_SECONDS
    _check(call, seconds)
    if api.tokens is None:
        raise errors.internal("this server issues no tokens")
    meta: Obj = {"name": call.name, "namespace": call.namespace, "creationTimestamp": api.now()}
    text, ends = api.tokens.issue(
        account.obj, seconds=seconds, audiences=spec.get("audiences") or [], bound=spec.get("boundObjectRef")
    )
    stamp = rfc3339.from_seconds(ends)
    answer: Obj = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": meta,
        "spec": spec,
        "status": {"token": text, "expirationTimestamp": stamp},
    }
    return DocumentAnswer(answer, code=201)


def _check(call: Call, seconds: int) -> None:
    where = "spec.expirationSeconds"
    problems = []
    if seconds < _MIN_SECONDS:
        problems.append(field.invalid(where, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _MAX_SECONDS:
        problems.append(field.invalid(where, seconds, "may not specify a duration larger than 2^32 seconds"))
    if problems:
        raise errors.invalid("authentication.k8s.io", "TokenRequest", call.name, problems)
