"""Affinity to nodes and to other pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api import field, label_syntax, names
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import metadata

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_affinity(affinity: Obj, path: str, found: list[FieldError]) -> None:
    if (node := affinity.get("nodeAffinity")) is not None:
        _node(node, f"{path}.nodeAffinity", found)
    for kind in ("podAffinity", "podAntiAffinity"):
        if (pods := affinity.get(kind)) is not None:
            _pods(pods, f"{path}.{kind}", found)


def _node(affinity: Obj, path: str, found: list[FieldError]) -> None:
    if (required := affinity.get(_REQUIRED)) is not None:
        validate_node_selector(required, f"{path}.{_REQUIRED}", found)
    for i, term in enumerate(affinity.get(_PREFERRED) or ()):
        here = f"{path}.{_PREFERRED}[{i}]"
        _weight(term, here, found)
        # Odd label values pass here: with a preference nothing is lost but the preference.
        _node_term(term.get("preference") or {}, f"{here}.preference", found, check_values=False)


def validate_node_selector(selector: Obj, path: str, found: list[FieldError]) -> None:
    """Checks a required node selector of a pod or volume."""
    terms = selector.get("nodeSelectorTerms")
    where = f"{path}.nodeSelectorTerms"
    if not terms:
        found.append(field.required(where, "must have at least one node selector term"))
        return
    for i, term in enumerate(terms):
        _node_term(term, f"{where}[{i}]", found, check_values=True)


def _node_term(term: Obj, path: str, found: list[FieldError], *, check_values: bool) -> None:
    for i, rule in enumerate(term.get("matchExpressions") or ()):
        _expression(rule, f"{path}.matchExpressions[{i}]", found, check_values=check_values)
    for i, rule in enumerate(term.get("matchFields") or ()):
        _field_rule(rule, f"{path}.matchFields[{i}]", found)


def _expression(rule: Obj, path: str, found: list[FieldError], *, check_values: bool) -> None:
    operator, values = rule.get("operator") or "", rule.get("values") or ()
    where = f"{path}.values"
    if operator in ("In", "NotIn"):
        if not values:
            found.append(field.required(where, "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(field.forbidden(where, text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            found.append(field.required(where, text))
    else:
        found.append(field.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = rule.get("key") or ""
    found += [field.invalid(f"{path}.key", key, text) for text in label_syntax.qualified_name(key)]
    if check_values:
        for i, value in enumerate(values):
            found += [field.invalid(f"{where}[{i}]", value, text) for text in label_syntax.label_value(value)]


def _field_rule(rule: Obj, path: str, found: list[FieldError]) -> None:
    operator, values, key = rule.get("operator") or "", rule.get("values") or (), rule.get("key") or ""
    if operator not in ("In", "NotIn"):
        found.append(field.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(field.required(f"{path}.values", text))
    if key != "metadata.name":
        found.append(field.invalid(f"{path}.key", key, "not a valid field selector key"))
        return
    for i, value in enumerate(values):
        problems = names.dns1123_subdomain(value)
        found += [field.invalid(f"{path}.values[{i}]", value, text) for text in problems]


def _weight(term: Obj, path: str, found: list[FieldError]) -> None:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        found.append(field.invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def _pods(affinity: Obj, path: str, found: list[FieldError]) -> None:
    for i, term in enumerate(affinity.get(_REQUIRED) or ()):
        _pod_term(term, f"{path}.{_REQUIRED}[{i}]", found)
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        here = f"{path}.{_PREFERRED}[{i}]"
        _weight(weighted, here, found)
        _pod_term(weighted.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm", found)


def _pod_term(term: Obj, path: str, found: list[FieldError]) -> None:
    for key in ("labelSelector", "namespaceSelector"):
        found += metadata.validate_label_selector(term.get(key), f"{path}.{key}")
    for name in term.get("namespaces") or ():
        found += [field.invalid(f"{path}.namespace", name, text) for text in names.dns1123_label(name)]
    validate_label_keys(
        term.get("matchLabelKeys") or (),
        term.get("mismatchLabelKeys") or (),
        term.get("labelSelector"),
        path,
        found,
    )
    topology = term.get("topologyKey") or ""
    if not topology:
        found.append(field.required(f"{path}.topologyKey", "can not be empty"))
    found += field.each(f"{path}.topologyKey", topology, label_syntax.qualified_name(topology))


def validate_label_keys(
    match: Sequence[str], mismatch: Sequence[str], selector: Obj | None, path: str, found: list[FieldError]
) -> None:
    """Checks `matchLabelKeys` and `mismatchLabelKeys`, which add to a selector and therefore need one.

    In a pod both are merged into the selector before this check, so if the selector has a key twice, the user
    has written it there, too.
    """
    for name, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            text = "must not be specified when labelSelector is not set"
            found.append(field.forbidden(f"{path}.{name}", text))
            continue
        for i, key in enumerate(keys):
            problems = label_syntax.qualified_name(key)
            found += [field.invalid(f"{path}.{name}[{i}]", key, text) for text in problems]
    if selector is not None and match:
        seen = set(selector.get("matchLabels") or ())
        first = {key: i for i, key in reversed(list(enumerate(match)))}
        for rule in selector.get("matchExpressions") or ():
            key = rule.get("key") or ""
            if key in first and key in seen:
                text = "exists in both matchLabelKeys and labelSelector"
                found.append(field.invalid(f"{path}[{first[key]}]", key, text))
            seen.add(key)
    excluded = frozenset(mismatch)
    for i, key in enumerate(match):
        if key in excluded:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.append(field.invalid(f"{path}.matchLabelKeys[{i}]", key, text))
