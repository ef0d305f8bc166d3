"""Roles and bindings of RBAC as objects. The authorizer decides what they allow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from longshore.api import field, names
from longshore.api.defaults import fill
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata

GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


def role(*, namespaced: bool) -> Strategy:
    """The strategy of Role if namespaced, of ClusterRole otherwise."""
    return _strategy(partial(_role_problems, namespaced=namespaced), namespaced=namespaced)


def role_binding(*, namespaced: bool) -> Strategy:
    """The strategy of RoleBinding if namespaced, of ClusterRoleBinding otherwise."""
    check = partial(_binding_problems, namespaced=namespaced)
    strategy = _strategy(check, namespaced=namespaced)
    of_role = strategy.validate_update

    def validate_update(new: Obj, old: Obj) -> list[FieldError]:
        found, ref = of_role(new, old), new["roleRef"]
        if ref != old["roleRef"]:
            shown = {"APIGroup": ref["apiGroup"], "Kind": ref.get("kind", ""), "Name": ref.get("name", "")}
            found.append(field.invalid("roleRef", shown, "cannot change roleRef"))
        return found

    return msgspec.structs.replace(strategy, default=_default_binding, validate_update=validate_update)


def _strategy(check: Callable[[Obj], list[FieldError]], *, namespaced: bool) -> Strategy:
    def validate_update(new: Obj, old: Obj) -> list[FieldError]:
        found = metadata.validate_create(new["metadata"], namespaced=namespaced, name_rule="any")
        return found + check(new) + metadata.validate_update_again(new["metadata"], old["metadata"])

    return Strategy(
        name_rule="any",
        counts_generation=False,
        has_status=False,
        create_on_update=True,
        validate_create=check,
        validate_update=validate_update,
    )


def _role_problems(obj: Obj, *, namespaced: bool) -> list[FieldError]:
    found: list[FieldError] = []
    for i, rule in enumerate(obj.get("rules") or ()):
        found += _rule(rule, namespaced, f"rules[{i}]")
    aggregation = obj.get("aggregationRule")
    if aggregation is not None:
        path = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors") or ()
        if not selectors:
            text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            found.append(field.required(path, text))
        for i, selector in enumerate(selectors):
            found += metadata.validate_label_selector(selector, f"{path}[{i}]")
    return found


def _rule(rule: Obj, namespaced: bool, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if not rule.get("verbs"):
        found.append(field.required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            found.append(field.invalid(f"{path}.nonResourceURLs", urls, text))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            found.append(field.invalid(f"{path}.nonResourceURLs", urls, text))
        return found
    if not rule.get("apiGroups"):
        text = "resource rules must supply at least one api group"
        found.append(field.required(f"{path}.apiGroups", text))
    if not rule.get("resources"):
        text = "resource rules must supply at least one resource"
        found.append(field.required(f"{path}.resources", text))
    return found


def _default_binding(obj: Obj) -> None:
    ref = obj.setdefault("roleRef", {})
    fill(ref, apiGroup=GROUP)
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


def _binding_problems(obj: Obj, *, namespaced: bool) -> list[FieldError]:
    ref = obj["roleRef"]
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    found: list[FieldError] = []
    if ref["apiGroup"] != GROUP:
        found.append(field.not_supported("roleRef.apiGroup", ref["apiGroup"], (GROUP,)))
    found += field.one_of("roleRef.kind", ref.get("kind", ""), kinds)
    name = ref.get("name", "")
    if not name:
        found.append(field.required("roleRef.name"))
    found += [field.invalid("roleRef.name", name, text) for text in names.path_segment(name)]
    for i, subject in enumerate(obj.get("subjects") or ()):
        found += _subject(subject, namespaced, f"subjects[{i}]")
    return found


def _subject(subject: Obj, namespaced: bool, path: str) -> list[FieldError]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    found = [] if name else [field.required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            found += [field.invalid(f"{path}.name", name, text) for text in names.dns1123_subdomain(name)]
        if group:
            found.append(field.not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            found.append(field.required(f"{path}.namespace"))
    elif kind in _SUBJECTS:
        if not name:
            text = f"{kind.lower()} name cannot be empty"
            found.append(field.invalid(f"{path}.name", name, text))
        if group != GROUP:
            found.append(field.not_supported(f"{path}.apiGroup", group, (GROUP,)))
    else:
        found.append(field.not_supported(f"{path}.kind", kind, _SUBJECTS))
    return found
