"""Access and identity reviews: create-only questions that are answered and never stored."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from longshore.api import errors, field, policy_rules
from longshore.api.types import Obj
from longshore.apiserver.access.authz import MASTERS, Access
from longshore.apiserver.access.tokens import ISSUER
from longshore.apiserver.answer import Answer
from longshore.apiserver.request import body, options
from longshore.apiserver.request.call import Call, User

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_EVERYTHING: Final[list[Obj]] = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
_EVERY_PATH: Final[list[Obj]] = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]


def review(api: Api, call: Call) -> Answer:
    """Answers the review in the body."""
    wanted = options.write_options(call, "CreateOptions")
    obj = body.object_of(call, wanted.field_validation)
    obj.setdefault("metadata", {})
    answer = _ANSWERS[call.resource.kind]
    answer(api, call, obj)
    return Answer(call.resource, obj=obj, code=201)


def _self_access(api: Api, call: Call, obj: Obj) -> None:
    spec = obj.get("spec") or {}
    _refuse(_metadata_problems(obj) + _attribute_problems(spec))
    _access(api, call.user, spec, obj)


def _subject_access(api: Api, call: Call, obj: Obj) -> None:
    spec = obj.get("spec") or {}
    _refuse(_subject_problems(spec) + _metadata_problems(obj))
    _access(api, _subject(spec), spec, obj)


def _local_access(api: Api, call: Call, obj: Obj) -> None:
    spec, where = obj.get("spec") or {}, call.namespace
    if obj["metadata"].setdefault("namespace", where) != where:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    problems = _subject_problems(spec) + _metadata_problems(obj, but="namespace")
    by_resource, by_path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if by_resource is not None and (asked := by_resource.get("namespace", "")) != where:
        text = "must match metadata.namespace"
        problems.append(field.invalid("spec.resourceAttributes.namespace", asked, text))
    if by_path is not None:
        text = "disallowed on this kind of request"
        problems.append(field.invalid("spec.nonResourceAttributes", _go_shaped(by_path), text))
    _refuse(problems)
    _access(api, _subject(spec), spec, obj)


def _subject(spec: Obj) -> User:
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))


def _subject_problems(spec: Obj) -> list[field.FieldError]:
    problems = _attribute_problems(spec)
    if not spec.get("user") and not spec.get("groups"):
        text = "at least one of user or group must be specified"
        problems.append(field.invalid("spec.user", spec.get("user", ""), text))
    return problems


def _access(api: Api, user: User, spec: Obj, obj: Obj) -> None:
    if (access := spec.get("resourceAttributes")) is not None:
        resource, sub = access.get("resource", ""), access.get("subresource")
        asked = Access(
            access.get("verb", ""),
            access.get("group", ""),
            f"{resource}/{sub}" if sub else resource,
            access.get("name", ""),
            access.get("namespace", ""),
        )
    else:
        paths = spec["nonResourceAttributes"]
        asked = Access(paths.get("verb", ""), path=paths.get("path", ""))
    verdict = api.authorizer.decide(user, asked)
    obj["status"] = {"allowed": verdict.allowed, **({"reason": verdict.reason} if verdict.reason else {})}


def _self_rules(api: Api, call: Call, obj: Obj) -> None:
    spec = obj.get("spec") or {}
    namespace = spec.get("namespace", "")
    if not namespace:
        raise errors.bad_request("no namespace on request")
    resource_rules: list[Obj] = []
    path_rules: list[Obj] = []
    faults: list[str] = []
    if MASTERS in call.user.groups:
        resource_rules, path_rules = _EVERYTHING, _EVERY_PATH
    else:
        grants = [*api.authorizer.grants(call.user, namespace)]
        for rule in chain.from_iterable(granted.rules for granted in grants):
            if rule.get("nonResourceURLs"):
                path_rules.append({"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]})
            else:
                kept = ("verbs", "apiGroups", "resources", "resourceNames")
                resource_rules.append({k: rule[k] for k in kept if k in rule})
        faults = [granted.fault() for granted in grants if granted.role is None]
    obj["spec"] = {}
    obj["status"] = {"resourceRules": resource_rules, "nonResourceRules": path_rules, "incomplete": False}
    if faults:
        obj["status"]["evaluationError"] = policy_rules.joined(faults)


def _self_subject(api: Api, call: Call, obj: Obj) -> None:
    obj["metadata"] = {"creationTimestamp": api.now()}
    obj["status"] = {"userInfo": user_info(call.user)}


def _token(api: Api, call: Call, obj: Obj) -> None:
    spec = obj.get("spec") or {}
    token, audiences = spec.get("token", ""), spec.get("audiences") or (ISSUER,)
    if not token:
        raise errors.bad_request("token is required for TokenReview in authentication")
    found = {
        each: api.tokens.user_of(token, (each,)) if api.tokens is not None else None for each in audiences
    }
    meant = [audience for audience, who in found.items() if who is not None]
    user = found[meant[0]] if meant else None
    if user is None:
        obj["status"] = {"user": {}, "error": "invalid bearer token"}
    else:
        obj["status"] = {"authenticated": True, "user": user_info(user), "audiences": meant}


def user_info(user: User) -> Obj:
    out: Obj = {"username": user.name}
    if user.uid:
        out["uid"] = user.uid
    if user.groups:
        out["groups"] = list(user.groups)
    if user.extra:
        out["extra"] = {k: list(v) for k, v in user.extra.items()}
    return out


def _attribute_problems(spec: Obj) -> list[field.FieldError]:
    by_resource, by_path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if by_resource is not None and by_path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        return [field.invalid("spec.nonResourceAttributes", _go_shaped(by_path), text)]
    if by_resource is None and by_path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [field.invalid("spec.resourceAttributes", None, text)]
    return []


def _go_shaped(attributes: Obj) -> Obj:
    """Attributes under the names of upstream's Go struct, as messages print them."""
    return {name.capitalize(): value for name, value in attributes.items()}


def _metadata_problems(obj: Obj, *, but: str = "") -> list[field.FieldError]:
    meta = {k: v for k, v in obj["metadata"].items() if k not in ("managedFields", but)}
    text = f"must be empty except for {but}" if but else "must be empty"
    return [field.invalid("metadata", meta, text)] if meta else []


def _refuse(problems: list[field.FieldError]) -> None:
    """Raises a 422 if there are problems. Its message leaves out the kind, as upstream's does."""
    if problems:
        raise errors.invalid("authorization.k8s.io", "", "", problems)


_ANSWERS: Final = {
    "SelfSubjectAccessReview": _self_access,
    "SubjectAccessReview": _subject_access,
    "LocalSubjectAccessReview": _local_access,
    "SelfSubjectRulesReview": _self_rules,
    "SelfSubjectReview": _self_subject,
    "TokenReview": _token,
}
KINDS: Final = frozenset(_ANSWERS)
