"""Answers an AdmissionReview by the rules of longshore's own API server. Pure: the queues and namespaces that
the rules need are a parameter.

The rules depend on the review's resource and operation, not on the webhook. A review without a rule is
allowed. Nothing is written, so a dry run is answered as any other request.
"""

from __future__ import annotations

import base64
from typing import Any, Final, NamedTuple

from longshore.api import types
from longshore.api.errors import StatusError
from longshore.api.patch import json_patch
from longshore.api.types import Obj
from longshore.api.warnings import pod as pod_warnings
from longshore.apiserver.admission import volcano
from longshore.apiserver.admission.lookup import Get, List
from longshore.apiserver.rest import admission

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
_JOBS: Final = "batch.volcano.sh/jobs"


class NoReview(ValueError):
    """The body is no AdmissionReview of admission.k8s.io/v1."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class ReviewRequest(NamedTuple):
    """The part of a review that the rules use."""

    uid: str
    operation: str
    storage: str
    """Group and plural, as `Resource.storage` has them."""
    name: str
    obj: Obj
    old: Obj

    @classmethod
    def of(cls, review: Any) -> ReviewRequest:
        """Reads a review. Raises `NoReview`."""
        try:
            if (review["apiVersion"], review["kind"]) != (API_VERSION, KIND):
                raise NoReview
            request = review["request"]
            what = request["resource"]
            group, plural = what.get("group") or "", what["resource"]
            subresource = request.get("subResource") or ""
            made = cls(
                uid=request["uid"],
                operation=request["operation"],
                storage="/".join(filter(None, (group, plural, subresource))),
                name=request.get("name") or "",
                obj=_named(request.get("object") or {}, request),
                old=_named(request.get("oldObject") or {}, request),
            )
        except (AttributeError, KeyError, TypeError):
            raise NoReview from None
        if not all(isinstance(value, str) for value in made[:4]):
            raise NoReview
        return made


def mutated(request: ReviewRequest, get: Get) -> Obj:
    """The response of a mutating webhook: its defaults as a JSON patch."""
    new = types.copy_of(request.obj)
    if request.operation == "CREATE":
        try:
            volcano.mutate_create(request.storage, new, get)
        except StatusError as error:
            return refusal(request, error)
    operations = json_patch.difference(request.obj, new)
    if not operations:
        return _allowed(request)
    patch = base64.b64encode(types.encode(operations)).decode()
    return {**_allowed(request), "patchType": "JSONPatch", "patch": patch}


def validated(request: ReviewRequest, get: Get, every: List) -> Obj:
    """The response of a validating webhook: allowed, with warnings, or refused with the reason."""
    try:
        _judge(request, get, every)
    except StatusError as error:
        return refusal(request, error)
    allowed, warnings = _allowed(request), _warnings(request)
    return {**allowed, "warnings": warnings} if warnings else allowed


def refusal(request: ReviewRequest, error: StatusError) -> Obj:
    """The response that refuses. The API server puts the webhook's name in front of the message."""
    if isinstance(error, volcano.Denied):
        status: Obj = {"message": error.why, "code": error.code}
    else:
        status = error.status()
    return {"uid": request.uid, "allowed": False, "status": status}


def answer(response: Obj) -> Obj:
    """The review that carries a response."""
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}


def _judge(request: ReviewRequest, get: Get, every: List) -> None:
    match request.operation:
        case "CREATE" if request.storage == "pods":
            admission.judge_pod_of_volcano({"spec": {}, **request.obj})
        case "CREATE":
            volcano.validate_create(request.storage, request.obj, get, every)
        case "UPDATE":
            volcano.validate_update(request.storage, request.obj, request.old, get, every)
        case "DELETE":
            volcano.validate_delete(request.storage, request.name, every)


def _warnings(request: ReviewRequest) -> list[str]:
    """Warnings about a new Job's pods, as Kubernetes gives them for a Job of its own."""
    if request.storage != _JOBS or request.operation != "CREATE":
        return []
    found: list[str] = []
    for index, task in enumerate((request.obj.get("spec") or {}).get("tasks") or ()):
        path = f"spec.tasks[{index}].template"
        found += pod_warnings.pod_template_warnings(task.get("template") or {}, None, path)
    return found


def _allowed(request: ReviewRequest) -> Obj:
    return {"uid": request.uid, "allowed": True}


def _named(obj: Obj, request: Obj) -> Obj:
    """The object with name and namespace, which the rules need and which only the request may have."""
    if not obj:
        return obj
    meta = {**(obj.get("metadata") or {})}
    meta["name"] = meta.get("name") or request.get("name") or ""
    meta["namespace"] = meta.get("namespace") or request.get("namespace") or ""
    return {**obj, "metadata": meta}
