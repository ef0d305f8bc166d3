"""LimitRanges: defaults and bounds for the containers, pods and claims of a namespace.

Missing defaults for containers come from other fields. The default limit is the maximum; the default request
is the default limit, or else the minimum.
"""

from __future__ import annotations

from typing import Final

from longshore.api import field, label_syntax, pod_resources, quantity
from longshore.api.field import FieldError
from longshore.api.quantity import round_up_list
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import resources

_TYPES: Final = frozenset(("Pod", "Container", "PersistentVolumeClaim"))
_CONTAINER_RESOURCES: Final = frozenset(("cpu", "memory", "ephemeral-storage"))


def validate(limit_range: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for i, item in enumerate(limit_range["spec"].get("limits") or ()):
        path, kind = f"spec.limits[{i}]", item.get("type", "")
        wrong = label_syntax.qualified_name(kind)
        found += [field.invalid(f"{path}.type", kind, text) for text in wrong]
        if not wrong and "/" not in kind and kind not in _TYPES:
            text = "must be a standard limit type or fully qualified"
            found.append(field.invalid(f"{path}.type", kind, text))
        if kind in seen:
            found.append(field.duplicate(f"{path}.type", kind))
        seen.add(kind)
        found += _names(item, kind, path)
        found += _bounds(item, path)
    return found


def _names(item: Obj, kind: str, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    lists = ["max", "min"]
    if kind == "Pod":
        text = "may not be specified when `type` is 'Pod'"
        found += [field.forbidden(f"{path}.{k}", text) for k in ("default", "defaultRequest") if item.get(k)]
    else:
        lists += ["default", "defaultRequest"]
    for key in lists:
        _list_names(item, key, kind, path, found)
    if kind == "PersistentVolumeClaim" and not any("storage" in (item.get(k) or {}) for k in ("min", "max")):
        text = "either minimum or maximum storage value is required, but neither was provided"
        found.append(field.required(f"{path}.limits", text))
    _list_names(item, "maxLimitRequestRatio", kind, path, found)
    return found


def _list_names(item: Obj, key: str, kind: str, path: str, found: list[FieldError]) -> None:
    for name in item.get(key) or ():
        here = f"{path}.{key}[{name}]"
        resources.validate_name(name, here, found)
        if kind not in ("Pod", "Container"):
            continue
        if "/" not in name:
            if name not in _CONTAINER_RESOURCES and not name.startswith(pod_resources.HUGE_PAGES):
                found.append(field.invalid(here, name, "must be a standard resource for containers"))
        elif not pod_resources.is_native(name) and not pod_resources.is_extended(name):
            found.append(field.invalid(here, name, "doesn't follow extended resource name standard"))


def _bounds(item: Obj, path: str) -> list[FieldError]:
    """Checks that the bounds and defaults of each resource fit each other."""
    found: list[FieldError] = []
    low, high = item.get("min") or {}, item.get("max") or {}
    pod = item.get("type") == "Pod"
    limit = {} if pod else item.get("default") or {}
    request = {} if pod else item.get("defaultRequest") or {}
    ratios = item.get("maxLimitRequestRatio") or {}
    for name in dict.fromkeys((*high, *low, *limit, *request, *ratios)):
        for a, b, key, shown, text in (
            (low, high, "min", low, "min value {} is greater than max value {}"),
            (
                low,
                request,
                "defaultRequest",
                request,
                "min value {} is greater than default request value {}",
            ),
            (
                request,
                high,
                "defaultRequest",
                request,
                "default request value {} is greater than max value {}",
            ),
            (request, limit, "defaultRequest", request, _REQUEST_OVER_LIMIT),
            (low, limit, "default", low, "min value {} is greater than default value {}"),
            (limit, high, "default", high, "default value {} is greater than max value {}"),
        ):
            if name in a and name in b and quantity.compare(a[name], b[name]) > 0:
                here = f"{path}.{key}[{name}]"
                found.append(field.invalid(here, shown[name], text.format(a[name], b[name])))
        if name in ratios:
            found += _ratio(
                ratios[name], low.get(name), high.get(name), f"{path}.maxLimitRequestRatio[{name}]"
            )
        both = name in limit and name in request
        if both and not pod_resources.can_overcommit(name) and quantity.compare(limit[name], request[name]):
            text = f"default value {limit[name]} must equal to defaultRequest value {request[name]} in {name}"
            found.append(field.invalid(f"{path}.defaultRequest[{name}]", request[name], text))
    return found


_REQUEST_OVER_LIMIT: Final = "default request value {} is greater than default limit value {}"


def _ratio(ratio: str, low: str | None, high: str | None, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if quantity.compare(ratio, "1") < 0:
        found.append(field.invalid(path, ratio, f"ratio {ratio} is less than 1"))
    if low is not None and high is not None and quantity.milli_value(low):
        most = quantity.milli_value(high) / quantity.milli_value(low)
        if quantity.milli_value(ratio) / 1000 > most:
            text = f"ratio {ratio} is greater than max/min = {most:f}"
            found.append(field.invalid(path, ratio, text))
    return found


_LISTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _default(obj: Obj) -> None:
    for item in obj.setdefault("spec", {}).setdefault("limits", []) or ():
        for key in _LISTS:
            if item.get(key):
                round_up_list(item[key])
        if item.get("type") == "Container":
            _complete(item)


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_create(new["metadata"], namespaced=True, name_rule="subdomain")
    return found + validate(new)


def _complete(item: Obj) -> None:
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


STRATEGY: Final = Strategy(
    counts_generation=False,
    has_status=False,
    create_on_update=True,
    default=_default,
    validate_create=validate,
    validate_update=_validate_update,
)
