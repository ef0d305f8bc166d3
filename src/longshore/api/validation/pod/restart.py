"""Restarts of containers: restartPolicy and its rules, and restarts by a resize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api import field
from longshore.api.field import FieldError
from longshore.api.types import Obj

_POD_POLICIES: Final = ("Always", "OnFailure", "Never")
_CONTAINER_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_RESIZE: Final = ("NotRequired", "RestartContainer")
_RESIZABLE: Final = ("cpu", "memory")
_MAX_RULES: Final = 20
_MAX_CODES: Final = 255


def validate_pod_policy(policy: str, path: str, found: list[FieldError]) -> None:
    if policy not in _POD_POLICIES:
        found.append(field.not_supported(path, policy, _POD_POLICIES) if policy else field.required(path))


def validate_container_policy(container: Obj, path: str, found: list[FieldError]) -> None:
    """`restartPolicy` and `restartPolicyRules` of one container. Rules need a policy beside them."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if not rules:
            return
        text = "must specify restartPolicy when restart rules are used"
        found.append(field.required(f"{path}.restartPolicy", text))
    elif policy not in _CONTAINER_POLICIES:
        found.append(field.not_supported(f"{path}.restartPolicy", policy, _CONTAINER_POLICIES))
    if len(rules) > _MAX_RULES:
        found.append(field.too_many(f"{path}.restartPolicyRules", len(rules), _MAX_RULES))
    for i, rule in enumerate(rules):
        _rule(rule, f"{path}.restartPolicyRules[{i}]", found)


def _rule(rule: Obj, path: str, found: list[FieldError]) -> None:
    action, codes = rule.get("action") or "", rule.get("exitCodes")
    if action not in _ACTIONS:
        found.append(field.not_supported(f"{path}.action", action, _ACTIONS))
    if codes is None:
        found.append(field.required(f"{path}.exitCodes", "must be specified"))
        return
    operator, values = codes.get("operator") or "", codes.get("values") or ()
    if operator not in _OPERATORS:
        found.append(field.not_supported(f"{path}.exitCodes.operator", operator, _OPERATORS))
    if len(values) > _MAX_CODES:
        found.append(field.too_many(f"{path}.exitCodes.values", len(values), _MAX_CODES))


def validate_resize_policy(
    policies: Sequence[Obj], pod_policy: str, path: str, found: list[FieldError]
) -> None:
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            found.append(field.duplicate(f"{path}[{i}]", name))
        seen.add(name)
        if name not in _RESIZABLE:
            found.append(field.not_supported(path, name, _RESIZABLE) if name else field.required(path))
        if restart not in _RESIZE:
            found.append(field.not_supported(path, restart, _RESIZE) if restart else field.required(path))
        if pod_policy == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            found.append(field.invalid(path, restart, text))
