"""Admission of Pods that name a RuntimeClass: they get its overhead, node selector and tolerations.

The names of the node's own runtimes are accepted even if no RuntimeClass of that name exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.api import field, quantity
from longshore.api.types import Obj, copy_of
from longshore.apiserver.admission.lookup import Get, forbidden_pod

_CLASSES: Final = "node.k8s.io/runtimeclasses"
_ENGINES: Final = ("process", "podman")
_MAX_MERGED: Final = 1000
"""The most tolerations, of a pod and its class together, that are merged."""
_OTHER_OVERHEAD: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_NO_OVERHEAD: Final = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def set_class(pod: Obj, spec: Obj, get: Get) -> None:
    """Adds the overhead, node selector and tolerations of the pod's class, or raises a 403."""
    name = spec.get("runtimeClassName")
    found = get(_CLASSES, "", name) if name is not None else None
    if name is not None and found is None and name not in _ENGINES:
        raise forbidden_pod(pod, f"pod rejected: RuntimeClass {field.quoted(name)} not found")
    overhead = (found or {}).get("overhead")
    if overhead is not None:
        _set_overhead(pod, spec, overhead.get("podFixed") or {})
    elif spec.get("overhead"):
        raise forbidden_pod(pod, _NO_OVERHEAD)
    if found is not None and (rules := found.get("scheduling")) is not None:
        _set_scheduling(pod, spec, rules)


def _set_overhead(pod: Obj, spec: Obj, fixed: Mapping[str, str]) -> None:
    asked = spec.get("overhead")
    if asked and (
        asked.keys() != fixed.keys() or any(quantity.compare(asked[key], fixed[key]) for key in fixed)
    ):
        raise forbidden_pod(pod, _OTHER_OVERHEAD)
    if fixed:
        spec["overhead"] = dict(fixed)


def _set_scheduling(pod: Obj, spec: Obj, rules: Obj) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (rules.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            where = f"pod.spec.nodeSelector[{key}] = {selector[key]}"
            raise forbidden_pod(
                pod, f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; {where}"
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    if added := rules.get("tolerations"):
        spec["tolerations"] = merged([*(spec.get("tolerations") or ()), *copy_of(added)])


def merged(tolerations: list[Obj]) -> list[Obj]:
    """The tolerations without those that another one covers. Of equal ones the first stays.

    A list of more than 1,000 is returned unchanged, since each is compared with each.
    """
    if len(tolerations) > _MAX_MERGED:
        return tolerations
    kept: list[Obj] = []
    for i, one in enumerate(tolerations):
        later = (other for other in tolerations[i + 1 :] if other != one)
        if not any(_covers(other, one) for other in (*kept, *later)):
            kept.append(one)
    return kept


def _covers(wide: Obj, one: Obj) -> bool:
    """Whether `wide` tolerates all that `one` does."""
    if wide == one:
        return True
    exists = wide.get("operator") == "Exists"
    if (one.get("key") or "") != (wide.get("key") or "") and (wide.get("key") or not exists):
        return False
    effect = wide.get("effect") or ""
    if effect and (one.get("effect") or "") != effect:
        return False
    if effect == "NoExecute" and (limit := wide.get("tolerationSeconds")) is not None:
        seconds = one.get("tolerationSeconds")
        if seconds is None or seconds > limit:
            return False
    if exists:
        return True
    is_equal = (wide.get("operator") or "Equal") == "Equal" and one.get("operator") == "Equal"
    return is_equal and (one.get("value") or "") == (wide.get("value") or "")
