"""PriorityClasses: a number for a name. Only Kubernetes' own two classes have names with `system-`.

Admission checks that only one class is the global default, since that needs the store.
"""

from __future__ import annotations

from typing import Final

from longshore.api import field
from longshore.api.defaults import fill
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata

MAX_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_CLASSES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREFIX: Final = "system-"
_POLICIES: Final = ("Never", "PreemptLowerPriority")


def _default(obj: Obj) -> None:
    obj.setdefault("value", 0)
    fill(obj, preemptionPolicy="PreemptLowerPriority")


def _validate_create(obj: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    if obj["metadata"].get("name", "").startswith(_PREFIX):
        problem = _system_problem(obj)
        if problem:
            text = f"priority class names with '{_PREFIX}' prefix are reserved for system use only. error: "
            found.append(field.forbidden("metadata.name", text + problem))
    elif obj["value"] > MAX_USER_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {MAX_USER_PRIORITY}"
        found.append(field.forbidden("value", text))
    policy = obj["preemptionPolicy"]
    if policy not in _POLICIES:
        found.append(field.not_supported("preemptionPolicy", policy, sorted(_POLICIES)))
    return found


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    if new["value"] != old["value"]:
        found.append(field.forbidden("value", "may not be changed in an update."))
    return found + field.changed(new, old, "preemptionPolicy")


def _system_problem(obj: Obj) -> str:
    name, value = obj["metadata"]["name"], obj["value"]
    wanted = SYSTEM_CLASSES.get(name)
    if wanted is None:
        return f"{name} is not a known system priority class"
    if value != wanted:
        return f"value of {name} PriorityClass must be {wanted}"
    if obj.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


STRATEGY: Final = Strategy(
    has_status=False,
    default=_default,
    validate_create=_validate_create,
    validate_update=_validate_update,
    generation_changed=lambda new, old: False,
)
