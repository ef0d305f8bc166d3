"""Privilege escalation: a write to a role or binding may grant only rights that the writer holds.

A user may write a role if the user holds every right in it, or may `escalate` it; a binding if the user holds
every right of its role, or may `bind` that role. The administrator may do both. Whether the user may write
the object at all is decided by the authorizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api import errors, field, policy_rules
from longshore.api.types import Obj
from longshore.apiserver.access.authz import MASTERS, RBAC, Access
from longshore.apiserver.request.call import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longshore.apiserver.api import Api

_EVERYTHING: Final[Sequence[Obj]] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
_COLLECTOR_FIELDS: Final = frozenset(("finalizers", "managedFields", "ownerReferences", "selfLink"))
"""Metadata that the garbage collector changes. A write of nothing else is not checked."""


def check(api: Api, call: Call, new: Obj, old: Obj | None = None) -> None:
    """Raises a 403 for a role or binding that would grant more than its writer holds."""
    if call.resource.group != RBAC or MASTERS in call.user.groups:
        return
    if old is not None and _only_for_collection(new, old):
        return
    if call.resource.plural.endswith("bindings"):
        _check_binding(api, call, new)
    else:
        _check_role(api, call, new, old)


def _check_role(api: Api, call: Call, new: Obj, old: Obj | None) -> None:
    plural = call.resource.plural
    if api.authorizer.allows(call.user, Access("escalate", RBAC, plural, call.name, call.namespace)):
        return
    _confirm(api, call, new, new.get("rules") or ())
    gathers = "aggregationRule" in new or (old is not None and "aggregationRule" in old)
    if gathers and policy_rules.uncovered(api.authorizer.rules(call.user, call.namespace), _EVERYTHING):
        why = "must have cluster-admin privileges to use an aggregationRule"
        raise errors.forbidden(RBAC, plural, _name(call, new), why)


def _check_binding(api: Api, call: Call, new: Obj) -> None:
    ref = new["roleRef"]
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(ref.get("kind", ""))
    if plural is None:
        return  # no such kind of role: validation says so
    access = Access("bind", ref["apiGroup"], plural, ref.get("name", ""), call.namespace)
    if api.authorizer.allows(call.user, access):
        return
    role = api.authorizer.role(ref, call.namespace)
    if role is None:
        raise errors.not_found(RBAC, plural, ref.get("name", ""))
    _confirm(api, call, new, role.get("rules") or ())


def _confirm(api: Api, call: Call, new: Obj, rules: Sequence[Obj]) -> None:
    """Raises unless the caller holds every one of these rules."""
    held: list[Obj] = []
    faults: list[str] = []
    for granted in api.authorizer.grants(call.user, call.namespace):
        held += granted.rules
        if granted.role is None:
            ref = granted.binding["roleRef"]
            faults.append(f"{ref['kind'].lower()}s.{RBAC} {field.quoted(ref['name'])} not found")
    missing = policy_rules.uncovered(held, rules)
    if not missing:
        return
    user = call.user
    why = (
        f"user {field.quoted(user.name)} (groups={policy_rules.texts(user.groups)}) is attempting to grant "
        "RBAC permissions not currently held:\n" + "\n".join(policy_rules.described(missing))
    )
    if faults:
        why += f"; resolution errors: [{policy_rules.joined(faults)}]"
    raise errors.forbidden(RBAC, call.resource.plural, _name(call, new), why)


def _name(call: Call, obj: Obj) -> str:
    return call.name or obj["metadata"].get("name", "")


def _only_for_collection(new: Obj, old: Obj) -> bool:
    return _compared(new) == _compared(old)


def _compared(obj: Obj) -> Obj:
    meta = {k: v for k, v in obj["metadata"].items() if k not in _COLLECTOR_FIELDS and v}
    return {**{k: v for k, v in obj.items() if v}, "metadata": meta}
