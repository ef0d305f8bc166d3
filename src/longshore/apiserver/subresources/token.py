"""serviceaccounts/token: a TokenRequest answered with a fresh token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api import errors, field
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.apiserver.access.tokens import ISSUER
from longshore.apiserver.answer import DocumentAnswer
from longshore.apiserver.request import body, options
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest.update import key_of
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_BINDABLE: Final = frozenset(("Node", "Pod", "Secret"))
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
    audiences = spec["audiences"] = spec.get("audiences") or [ISSUER]
    text, ends = api.tokens.issue(
        account.obj,
        identifier=api.new_uid(),
        seconds=seconds,
        audiences=audiences,
        bound=_bound(api, call, spec.get("boundObjectRef")),
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


def _bound(api: Api, call: Call, ref: Obj | None) -> Obj | None:
    """The claims about the pod, Secret or node that a token is bound to. That object must exist, and a pod
    must run with the service account."""
    if ref is None:
        return None
    kind, name, version = ref.get("kind", ""), ref.get("name", ""), ref.get("apiVersion", "")
    if kind not in _BINDABLE or version not in ("", "v1"):
        group, _, shown = version.rpartition("/")
        text = f"cannot bind token to object of type {group}/{shown}, Kind={kind}"
        raise errors.bad_request(text)
    plural = f"{kind.lower()}s"
    obj = _found(api, plural, "" if kind == "Node" else call.namespace, name)
    spec, uid = obj.get("spec") or {}, obj["metadata"]["uid"]
    if kind == "Pod" and (owner := spec.get("serviceAccountName", "")) != call.name:
        raise errors.bad_request(
            f"cannot bind token for serviceaccount {field.quoted(call.name)} to pod running with "
            f"serviceaccount {field.quoted(owner)}"
        )
    asked = ref.get("uid")
    if asked and asked != uid:
        text = (
            f"the UID in the bound object reference ({asked}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict("", kind, name, text)
    claims: Obj = {kind.lower(): {"name": name, "uid": uid}}
    if kind == "Pod" and (node := spec.get("nodeName")):
        entry = api.store.get(Key("nodes", "", node))
        claims["node"] = {"name": node, "uid": entry.obj["metadata"]["uid"] if entry is not None else ""}
    return claims


def _found(api: Api, plural: str, namespace: str, name: str) -> Obj:
    entry = api.store.get(Key(plural, namespace, name))
    if entry is None:
        raise errors.not_found("", plural, name)
    return entry.obj


def _check(call: Call, seconds: int) -> None:
    where = "spec.expirationSeconds"
    problems = []
    if seconds < _MIN_SECONDS:
        problems.append(field.invalid(where, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _MAX_SECONDS:
        problems.append(field.invalid(where, seconds, "may not specify a duration larger than 2^32 seconds"))
    if problems:
        raise errors.invalid("authentication.k8s.io", "TokenRequest", call.name, problems)
