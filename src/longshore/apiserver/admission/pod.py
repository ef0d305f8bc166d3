"""What admission adds to a Pod: how long it stays on a node in trouble, and how important it is.

The caller looks PriorityClasses up; nothing here reads the store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.api import errors
from longshore.api.types import Obj

FindClass = Callable[[str], Obj | None]
"""The PriorityClass of this name, None when there is none."""
DefaultClass = Callable[[], Obj | None]
"""The PriorityClass that is the global default, None when no class is."""

_STAY_SECONDS: Final = 300
_NO_CLASS: Final[Obj] = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
_TROUBLES: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def admit_create(pod: Obj, *, find_class: FindClass, default_class: DefaultClass) -> None:
    """Sets priority and tolerations of a new Pod, or raises a 403."""
    spec = pod.setdefault("spec", {})
    _set_priority(pod, spec, find_class, default_class)
    add_tolerations(spec)


def admit_update(new: Obj, old: Obj) -> None:
    """Puts back what admission set at creation and the client may not know of."""
    spec, before = new.setdefault("spec", {}), old.get("spec") or {}
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None and before.get(key) is not None:
            spec[key] = before[key]
    add_tolerations(spec)


def _set_priority(pod: Obj, spec: Obj, find_class: FindClass, default_class: DefaultClass) -> None:
    name = spec.get("priorityClassName")
    if name:
        chosen = find_class(name)
        if chosen is None:
            raise _forbidden(pod, f"no PriorityClass with name {name} was found")
    else:
        chosen = default_class()
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
    if chosen is None:
        chosen = _NO_CLASS
    value, policy = chosen.get("value") or 0, chosen.get("preemptionPolicy")
    asked = spec.get("priority")
    if asked is not None and asked != value:
        raise _forbidden(
            pod,
            f"the integer value of priority ({asked}) must not be provided in pod spec; priority admission "
            f"controller computed {value} from the given PriorityClass name",
        )
    spec["priority"] = value
    if policy is None:
        return
    asked = spec.get("preemptionPolicy")
    if asked is not None and asked != policy:
        raise _forbidden(
            pod,
            f"the string value of PreemptionPolicy ({asked}) must not be provided in pod spec; priority "
            f"admission controller computed {policy} from the given PriorityClass name",
        )
    spec["preemptionPolicy"] = policy


def _forbidden(pod: Obj, why: str) -> errors.StatusError:
    meta = pod.get("metadata") or {}
    return errors.forbidden("", "pods", meta.get("name") or meta.get("generateName") or "Unknown", why)


def add_tolerations(spec: Obj) -> None:
    """Pods leave a node that is not ready or out of reach after five minutes, unless they say otherwise."""
    listed = spec.get("tolerations") or []
    missing = [key for key in _TROUBLES if not any(_tolerates(t, key) for t in listed)]
    if missing:
        spec["tolerations"] = [*listed, *(_toleration(key) for key in missing)]


def _tolerates(toleration: Obj, key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _toleration(key: str) -> Obj:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _STAY_SECONDS}
