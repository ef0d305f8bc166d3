"""Checks of a Queue by itself: amounts that fit each other, a state, the weights of its hierarchy.

`apiserver/admission/volcano/queue` checks it against its parents and children.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from longshore.api import field, quantity
from longshore.api.defaults.volcano import HIERARCHY, WEIGHTS
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation.pod import resources
from longshore.api.validation.volcano.job import TIERS, both_tiers

_STATES: Final = ("", "Open", "Closed")
_PATH: Final = "requestBody.metadata.annotations"
_is_float: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:_[0-9]+)*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.ASCII | re.IGNORECASE,
).fullmatch


def validate(spec: Obj, state: str, annotations: Obj, others: Iterable[tuple[str, str]]) -> str:
    """All problems of a Queue. `others` are the names of the other queues, each with its hierarchy."""
    found = _amounts(spec)
    if state not in _STATES:
        found.append(field.invalid("requestBody.spec.state", state, "queue state must be in [Open Closed]"))
    found += _hierarchy(annotations, others)
    texts = list(dict.fromkeys(str(problem) for problem in found))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def _amounts(spec: Obj) -> list[FieldError]:
    """Checks that guarantee <= deserved <= capability, and that none is negative."""
    found: list[FieldError] = []
    capability, deserved = spec.get("capability") or {}, spec.get("deserved") or {}
    guarantee = (spec.get("guarantee") or {}).get("resource") or {}
    for part, amounts in (("capability", capability), ("deserved", deserved)):
        for name in sorted(amounts):
            resources.validate_quantity(name, amounts[name], f"requestBody.spec.{part}.{name}", found)
    for name in sorted(guarantee):
        least = guarantee[name]
        resources.validate_quantity(name, least, f"requestBody.spec.guarantee.resource.{name}", found)
        path = f"requestBody.spec.deserved.{name}"
        if name not in deserved:
            found.append(
                field.invalid(path, "<nil>", f"deserved[{name}] must be >= guarantee[{name}]={least}")
            )
        elif _less(deserved[name], least):
            text = f"deserved[{name}]={deserved[name]} must be >= guarantee[{name}]={least}"
            found.append(field.invalid(path, deserved[name], text))
    for name in sorted(deserved):
        if name in capability and _less(capability[name], deserved[name]):
            text = f"deserved[{name}]={deserved[name]} must be <= capability[{name}]={capability[name]}"
            found.append(field.invalid(f"requestBody.spec.deserved.{name}", deserved[name], text))
    return found


def _less(one: str, other: str) -> bool:
    return quantity.parse(one).amount < quantity.parse(other).amount


def _hierarchy(annotations: Obj, others: Iterable[tuple[str, str]]) -> list[FieldError]:
    path, weights = annotations.get(HIERARCHY, ""), annotations.get(WEIGHTS, "")
    if not path and not weights:
        return []
    if path.count("/") != weights.count("/"):
        return [field.invalid(_PATH, path, f"{HIERARCHY} must have the same length with {WEIGHTS}")]
    for weight in weights.split("/"):
        if not _is_float(weight):
            why = f"strconv.ParseFloat: parsing {field.quoted(weight)}: invalid syntax"
            return [field.invalid(_PATH, weights, f"{weight} in the {weights} is invalid number: {why}")]
        if float(weight) <= 0:
            return [field.invalid(_PATH, weights, f"{weight} in the {weights} must be larger than 0")]
    for name, other in others:
        if other.startswith(path + "/"):
            text = f"{path} is not allowed to be in the sub path of {other} of queue {name}"
            return [field.invalid(_PATH, path, text)]
    return []


# ---- PodGroups: the highest tier of a network topology is named in one way only.


def validate_podgroup(spec: Obj) -> str:
    """All problems of a PodGroup, in one text."""
    found = [f"{TIERS}."] if both_tiers(spec.get("networkTopology")) else []
    for policy in spec.get("subGroupPolicy") or ():
        if both_tiers(policy.get("networkTopology")):
            found.append(f"in subGroupPolicy '{policy.get('name', '')}': {TIERS}.")
    return " ".join(found)
