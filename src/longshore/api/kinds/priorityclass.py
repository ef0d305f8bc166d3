"""PriorityClasses: a number for a name. The two of Kubernetes itself are the only `system-` ones.

Whether another class is the global default already is a question to the store, so admission asks it.
"""

from __future__ import annotations

from typing import ClassVar, Final

from longshore.api import field
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata

MAX_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_CLASSES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREFIX: Final = "system-"
_POLICIES: Final = ("Never", "PreemptLowerPriority")


class PriorityClassStrategy(Strategy):
    has_status: ClassVar[bool] = False

    def default(self, obj: Obj) -> None:
        obj.setdefault("value", 0)
        if not obj.get("preemptionPolicy"):
            obj["preemptionPolicy"] = "PreemptLowerPriority"

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        found: list[FieldError] = []
        if obj["metadata"].get("name", "").startswith(_PREFIX):
            problem = _system_problem(obj)
            if problem:
                text = (
                    f"priority class names with '{_PREFIX}' prefix are reserved for system use only. error: "
                )
                found.append(field.forbidden("metadata.name", text + problem))
        elif obj["value"] > MAX_USER_PRIORITY:
            text = f"maximum allowed value of a user defined priority is {MAX_USER_PRIORITY}"
            found.append(field.forbidden("value", text))
        policy = obj["preemptionPolicy"]
        if policy not in _POLICIES:
            found.append(field.not_supported("preemptionPolicy", policy, sorted(_POLICIES)))
        return found

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        found = metadata.validate_update_again(new["metadata"], old["metadata"])
        if new["value"] != old["value"]:
            found.append(field.forbidden("value", "may not be changed in an update."))
        if new["preemptionPolicy"] != old["preemptionPolicy"]:
            found.append(field.invalid("preemptionPolicy", new["preemptionPolicy"], metadata.IMMUTABLE))
        return found

    def generation_changed(self, new: Obj, old: Obj) -> bool:
        """Nothing that counts can change."""
        return False


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
