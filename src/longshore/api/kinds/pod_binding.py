"""A pod gets its node (binding), or is asked to leave it (eviction): the rules. Stores nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.api import errors, field
from longshore.api.errors import StatusError
from longshore.api.field import FieldError
from longshore.api.types import Obj

_NOTHING: Final[Mapping[str, Obj]] = {}


def bind(pod: Obj | None, binding: Obj, *, namespace: str, name: str, now: str) -> Obj:
    """The pod with its node. Raises StatusError. `pod` is None if no pod has this name."""
    meta, target = binding.get("metadata") or {}, binding.get("target") or {}
    if (meta.get("name") or "") != name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    problems = _problems(target)
    if problems:
        # Upstream forgets to make these a 422.
        texts = [str(p) for p in problems]
        raise StatusError(500, "", texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    if pod is None:
        raise errors.not_found("", "pods", name)
    _check_preconditions(pod, meta, namespace, name)
    spec = pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        raise _refused(name, "is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _refused(name, f"is already assigned to node {field.quoted(spec['nodeName'])}")
    if spec.get("schedulingGates"):
        raise _refused(name, "has non-empty .spec.schedulingGates")
    given = {key: meta[key] for key in ("annotations", "labels") if meta.get(key)}
    return bound(pod, target["name"], now=now, given=given)


def _problems(target: Obj) -> list[FieldError]:
    found = []
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        found.append(field.not_supported("target.kind", kind, ("Node", "<empty>")))
    if not target.get("name"):
        found.append(field.required("target.name"))
    return found


def _check_preconditions(pod: Obj, meta: Obj, namespace: str, name: str) -> None:
    """Checks that the binding's uid and version, if given, are the pod's."""
    for key, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        asked, found = meta.get(key), pod["metadata"].get(key) or ""
        if asked and asked != found:
            text = (
                f"StorageError: invalid object, Code: 4, Key: /registry/pods/{namespace}/{name}, "
                "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
                f"{word} in precondition: {asked}, {word} in object meta: {found}"
            )
            raise errors.conflict("", "pods", name, text)


def _refused(name: str, why: str) -> StatusError:
    return errors.conflict("", "pods/binding", name, f"pod {name} {why}")


def bound(pod: Obj, node: str, *, now: str, given: Mapping[str, Obj] = _NOTHING) -> Obj:
    """The pod with its node. The given annotations and labels are added to the pod, and its nominated node is
    removed."""
    new_meta = dict(pod["metadata"])
    for key, more in given.items():
        new_meta[key] = {**(new_meta.get(key) or {}), **more}
    status = {k: v for k, v in (pod.get("status") or {}).items() if k != "nominatedNodeName"}
    status["conditions"] = with_condition(status.get("conditions") or [], "PodScheduled", "True", now=now)
    return {**pod, "metadata": new_meta, "spec": {**pod["spec"], "nodeName": node}, "status": status}


def evicted(pod: Obj, *, now: str) -> Obj:
    """The pod with the condition that says why it is about to be deleted."""
    status = dict(pod.get("status") or {})
    status["conditions"] = with_condition(
        status.get("conditions") or [],
        "DisruptionTarget",
        "True",
        now=now,
        reason="EvictionByEvictionAPI",
        message="Eviction API: evicting",
    )
    return {**pod, "status": status}


# ---- Conditions in a Pod's status: set one, keeping the time of its last change of mind.


def with_condition(
    conditions: list[Obj], kind: str, status: str, *, now: str, reason: str = "", message: str = ""
) -> list[Obj]:
    """A new list with this condition in the place of the old one of its type, or at the end."""
    entry: Obj = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": now}
    if reason:
        entry["reason"] = reason
    if message:
        entry["message"] = message
    result = []
    placed = False
    for old in conditions:
        if old.get("type") == kind and not placed:
            placed = True
            if old.get("status") == status:
                entry["lastTransitionTime"] = old.get("lastTransitionTime")
            result.append(entry)
        else:
            result.append(old)
    return result if placed else [*result, entry]
