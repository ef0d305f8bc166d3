"""Checks of a Job's podFailurePolicy and successPolicy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api import field, indexes, label_syntax
from longshore.api.field import FieldError
from longshore.api.types import Obj

_MAX_RULES: Final = 20
_MAX_PATTERNS: Final = 20
_MAX_EXIT_CODES: Final = 255
_MAX_SUCCEEDED_INDEXES_BYTES: Final = 64 * 1024
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")


def validate_pod_failure_policy(spec: Obj, path: str) -> list[FieldError]:
    """Checks the policy at `path`. Container names and backoffLimitPerIndex are taken from the spec."""
    rules = spec["podFailurePolicy"].get("rules") or ()
    found: list[FieldError] = []
    if len(rules) > _MAX_RULES:
        found.append(field.too_many(f"{path}.rules", len(rules), _MAX_RULES))
    pod = spec["template"].get("spec") or {}
    containers = {c.get("name", "") for key in ("containers", "initContainers") for c in pod.get(key) or ()}
    for i, rule in enumerate(rules):
        found += _rule(rule, f"{path}.rules[{i}]", containers, per_index="backoffLimitPerIndex" in spec)
    return found


def _rule(rule: Obj, path: str, containers: set[str], *, per_index: bool) -> list[FieldError]:
    found: list[FieldError] = []
    action = rule.get("action", "")
    if action == "FailIndex" and not per_index:
        found.append(field.invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set"))
    found += _choice(action, f"{path}.action", _ACTIONS)
    exit_codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions")
    if exit_codes is not None:
        found += _exit_codes(exit_codes, f"{path}.onExitCodes", containers)
    if patterns:
        found += _patterns(patterns, f"{path}.onPodConditions")
    if exit_codes is not None and patterns:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        found.append(field.invalid(path, field.NO_VALUE, text))
    elif exit_codes is None and not patterns:
        text = "specifying one of OnExitCodes and OnPodConditions is required"
        found.append(field.invalid(path, field.NO_VALUE, text))
    return found


def _choice(value: str, path: str, supported: tuple[str, ...]) -> list[FieldError]:
    if value in supported:
        return []
    if value:
        return [field.not_supported(path, value, supported)]
    listed = " ".join(field.quoted(s) for s in supported)
    return [field.required(path, f"valid values: [{listed}]")]


def _exit_codes(requirement: Obj, path: str, containers: set[str]) -> list[FieldError]:
    operator = requirement.get("operator", "")
    found = _choice(operator, f"{path}.operator", _OPERATORS)
    container = requirement.get("containerName")
    if container is not None and container not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        found.append(field.invalid(f"{path}.containerName", container, text))
    values = requirement.get("values") or []
    if not values:
        found.append(field.invalid(f"{path}.values", [], "at least one value is required"))
    elif len(values) > _MAX_EXIT_CODES:
        found.append(field.too_many(f"{path}.values", len(values), _MAX_EXIT_CODES))
    seen: set[int] = set()
    for i, code in enumerate(values):
        if code == 0 and operator == "In":
            found.append(field.invalid(f"{path}.values[{i}]", code, "must not be 0 for the In operator"))
        if code in seen:
            found.append(field.duplicate(f"{path}.values[{i}]", code))
        seen.add(code)
    if values != sorted(values):
        found.append(field.invalid(f"{path}.values", values, "must be ordered"))
    return found


def _patterns(patterns: list[Obj], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if len(patterns) > _MAX_PATTERNS:
        found.append(field.too_many(path, len(patterns), _MAX_PATTERNS))
    for i, pattern in enumerate(patterns):
        name = pattern.get("type", "")
        found += field.each(f"{path}[{i}].type", name, label_syntax.qualified_name(name))
        found += _choice(pattern.get("status", ""), f"{path}[{i}].status", _STATUSES)
    return found


def validate_success_policy(spec: Obj, path: str) -> list[FieldError]:
    """Checks the policy at `path`. The Job is known to be Indexed."""
    rules = spec["successPolicy"].get("rules") or ()
    found: list[FieldError] = []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        found.append(field.required(f"{path}.rules", text))
    if len(rules) > _MAX_RULES:
        found.append(field.too_many(f"{path}.rules", len(rules), _MAX_RULES))
    for i, rule in enumerate(rules):
        found += _success_rule(rule, f"{path}.rules[{i}]", spec.get("completions", 0))
    return found


def _success_rule(rule: Obj, path: str, completions: int) -> Iterable[FieldError]:
    count, listed = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and listed is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        yield field.required(path, text)
    total = 0
    if listed is not None:
        if len(listed.encode()) > _MAX_SUCCEEDED_INDEXES_BYTES:
            yield field.too_long(f"{path}.succeededIndexes", _MAX_SUCCEEDED_INDEXES_BYTES)
        try:
            total = indexes.count(indexes.parse(listed, completions))
        except indexes.IndexListError as problem:
            yield field.invalid(
                f"{path}.succeededIndexes", listed, f"error parsing succeededIndexes: {problem}"
            )
    if count is not None:
        at = f"{path}.succeededCount"
        if count < 0:
            yield field.invalid(at, count, field.NOT_NEGATIVE)
        if count > completions:
            yield field.invalid(
                at,
                count,
                f"must be less than or equal to {completions} (the number of specified completions)",
            )
        if listed is not None and count > total:
            yield field.invalid(
                at,
                count,
                f"must be less than or equal to {total} "
                "(the number of indexes in the specified succeededIndexes field)",
            )
