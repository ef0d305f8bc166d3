"""ResourceQuotas: limits of a namespace in spec, usage in status. Admission updates the usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.api import field, pod_resources
from longshore.api.field import FieldError
from longshore.api.quantity import round_up_list
from longshore.api.strategy import Strategy, starts_with
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import resources

STANDARD_NAMES: Final = frozenset((
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods",
    "resourcequotas", "services", "replicationcontrollers", "secrets", "persistentvolumeclaims",
    "configmaps", "services.nodeports", "services.loadbalancers",
))  # fmt: skip
_POD_COMPUTE: Final = frozenset((
    "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory",
))  # fmt: skip
_FOR_PODS: Final = _POD_COMPUTE | {"pods"}
_SCOPES: Final[Mapping[str, frozenset[str]]] = {
    "Terminating": _FOR_PODS,
    "NotTerminating": _FOR_PODS,
    "BestEffort": frozenset(("pods",)),
    "NotBestEffort": _FOR_PODS,
    "PriorityClass": _FOR_PODS,
    "CrossNamespacePodAffinity": _FOR_PODS,
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
}
"""Each scope with the standard resources that it can apply to."""
_PRESENCE_ONLY: Final = frozenset(_SCOPES) - {"PriorityClass", "VolumeAttributesClass"}
_CONFLICTS: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTS_TEXT: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)


def validate(quota: Obj) -> list[FieldError]:
    spec = quota["spec"]
    found = _amounts(spec.get("hard"), "spec.hard")
    found += _scopes(spec)
    return found + _selector(spec)


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    found += validate(new)
    scopes = new["spec"].get("scopes") or []
    if set(scopes) != set(old["spec"].get("scopes") or ()):
        found.append(field.invalid("spec.scopes", scopes, field.IMMUTABLE))
    return found


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    for key in ("hard", "used"):
        found += _amounts(new["status"].get(key), f"status.{key}")
    return found


def _is_standard(name: str) -> bool:
    huge = pod_resources.HUGE_PAGES
    return name in STANDARD_NAMES or name.startswith((huge, f"requests.{huge}"))


def _amounts(amounts: Mapping[str, str] | None, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name, amount in (amounts or {}).items():
        here = f"{path}[{name}]"
        resources.validate_name(name, here, found)
        if "/" not in name and not _is_standard(name):
            found.append(field.invalid(here, name, "must be a standard resource for quota"))
        resources.validate_quantity(name, amount, here, found)
    return found


def _fits(scope: str, hard: Mapping[str, str]) -> bool:
    allowed = _SCOPES.get(scope, frozenset())
    return all(name in allowed for name in hard if _is_standard(name))


def _scopes(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    scopes, hard = spec.get("scopes") or [], spec.get("hard") or {}
    for scope in scopes:
        if scope not in _SCOPES:
            found.append(field.invalid("spec.scopes", scopes, "unsupported scope"))
        for name in sorted(hard):
            if not _fits(scope, {name: hard[name]}):
                found.append(field.invalid("spec.scopes", scopes, "unsupported scope applied to resource"))
    return found + _conflicts(scopes, scopes, "spec.scopes")


def _conflicts(scopes: list[str], shown: list[str] | None, path: str) -> list[FieldError]:
    return [
        field.invalid(path, shown, "conflicting scopes")
        for pair in _CONFLICTS
        if all(scope in scopes for scope in pair)
    ]


def _selector(spec: Obj) -> list[FieldError]:
    selector = spec.get("scopeSelector")
    if selector is None:
        return []
    found: list[FieldError] = []
    path, hard = "spec.scopeSelector.matchExpressions", spec.get("hard") or {}
    terms = selector.get("matchExpressions") or []
    for term in terms:
        scope, operator, values = (
            term.get("scopeName", ""),
            term.get("operator", ""),
            term.get("values") or [],
        )
        if scope not in _SCOPES:
            found.append(field.invalid(f"{path}.scopeName", scope, "unsupported scope"))
        for name in sorted(hard):
            if not _fits(scope, {name: hard[name]}):
                text = "unsupported scope applied to resource"
                found.append(field.invalid(path, _internal(terms), text))
        if scope in _PRESENCE_ONLY and operator != "Exists":
            found.append(field.invalid(f"{path}.operator", operator, _EXISTS_TEXT))
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                found.append(field.required(f"{path}.values", text))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                found.append(field.invalid(f"{path}.values", values, text))
        else:
            found.append(field.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    return found + _conflicts([t.get("scopeName", "") for t in terms], spec.get("scopes"), path)


def _internal(terms: list[Obj]) -> Obj:
    """A scope selector as Kubernetes prints its internal type."""
    shown = [
        {"ScopeName": t.get("scopeName", ""), "Operator": t.get("operator", ""), "Values": t.get("values")}
        for t in terms
    ]
    return {"MatchExpressions": shown}


def _default(obj: Obj) -> None:
    if (obj.setdefault("spec", {})).get("hard"):
        round_up_list(obj["spec"]["hard"])
    obj.setdefault("status", {})


STRATEGY: Final = Strategy(
    counts_generation=False,
    delete_answers_object=True,
    default=_default,
    prepare_create=starts_with({}),
    validate_create=validate,
    validate_update=validate_update,
    validate_status=validate_status,
)
