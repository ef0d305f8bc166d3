"""Requests and limits: known names, sane amounts, requests within limits, claims that exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from longshore.api import field, label_syntax, names, pod_resources, quantity
from longshore.api.field import FieldError
from longshore.api.types import Obj

_CONTAINER: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_COUNTED: Final = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_STANDARD: Final = (
    _CONTAINER
    | _COUNTED
    | {f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER}
    | {"storage", "requests.storage"}
)
_POD_LEVEL_SHOWN: Final = ("cpu", "hugepages-", "memory")

NameCheck = Callable[[str, str, list[FieldError]], None]
ClaimNames = frozenset[str]


def validate_requirements(
    resources: Obj,
    claim_names: ClaimNames,
    path: str,
    found: list[FieldError],
    *,
    pod_level: bool = False,
) -> None:
    """Checks the `resources` of a container, or with `pod_level` those of the pod itself."""
    limits: Mapping[str, str] = resources.get("limits") or {}
    requests: Mapping[str, str] = resources.get("requests") or {}
    check: NameCheck = _pod_name if pod_level else _container_name
    huge = False
    for name, amount in limits.items():
        if name not in _CONTAINER or pod_level or amount[:1] == "-":
            _entry(name, amount, check, f"{path}.limits[{name}]", found)
            huge = huge or name.startswith(pod_resources.HUGE_PAGES)
    for name, amount in requests.items():
        if name not in _CONTAINER or pod_level or amount[:1] == "-":
            _amount(name, amount, check, f"{path}.requests[{name}]", found)
        limit = limits.get(name)
        if limit is None:
            if not pod_resources.can_overcommit(name):
                text = "Limit must be set for non overcommitable resources"
                found.append(field.required(f"{path}.limits", text))
        elif limit != amount:
            _within(name, amount, limit, f"{path}.requests", found)
        if name.startswith(pod_resources.HUGE_PAGES):
            huge = True
            _huge_pages(name, amount, f"{path}.requests[{name}]", found)
    if huge and not any(name in each for each in (limits, requests) for name in ("cpu", "memory")):
        found.append(field.forbidden(path, "HugePages require cpu or memory"))
    if claims := resources.get("claims"):
        _claims(claims, claim_names, f"{path}.claims", found)


def _entry(name: str, amount: str, check: NameCheck, path: str, found: list[FieldError]) -> None:
    _amount(name, amount, check, path, found)
    if name.startswith(pod_resources.HUGE_PAGES):
        _huge_pages(name, amount, path, found)


def _amount(name: str, amount: str, check: NameCheck, path: str, found: list[FieldError]) -> None:
    check(name, path, found)
    validate_quantity(name, amount, path, found)


def validate_quantity(name: str, amount: str, path: str, found: list[FieldError]) -> None:
    """Checks that an amount is not negative, and whole for resources that are counted."""
    if amount.startswith("-"):
        found.append(field.invalid(path, amount, field.NOT_NEGATIVE))
    if (name in _COUNTED or pod_resources.is_extended(name)) and quantity.milli_value(amount) % 1000:
        found.append(field.invalid(path, amount, "must be an integer"))


def _within(name: str, amount: str, limit: str, path: str, found: list[FieldError]) -> None:
    order = quantity.compare(amount, limit)
    if order and not pod_resources.can_overcommit(name):
        found.append(field.invalid(path, amount, f"must be equal to {name} limit of {limit}"))
    elif order > 0:
        found.append(field.invalid(path, amount, f"must be less than or equal to {name} limit of {limit}"))


def _huge_pages(name: str, amount: str, path: str, found: list[FieldError]) -> None:
    if not pod_resources.fits_huge_pages(name, amount):
        text = f"{amount} is not positive integer multiple of {name}"
        found.append(field.invalid(path, amount, text))


def validate_name(name: str, path: str, found: list[FieldError]) -> bool:
    """Checks a resource name. False if it is so wrong that further checks make no sense."""
    problems = label_syntax.qualified_name(name)
    if problems:
        found += [field.invalid(path, name, text) for text in problems]
        return False
    if "/" not in name and name not in _STANDARD and not _is_huge_pages(name):
        found.append(field.invalid(path, name, "must be a standard resource type or fully qualified"))
        return False
    return True


def _is_huge_pages(name: str) -> bool:
    return name.startswith((pod_resources.HUGE_PAGES, "requests." + pod_resources.HUGE_PAGES))


def _container_name(name: str, path: str, found: list[FieldError]) -> None:
    validate_name(name, path, found)
    if "/" not in name:
        if name not in _CONTAINER and not name.startswith(pod_resources.HUGE_PAGES):
            found.append(field.invalid(path, name, "must be a standard resource for containers"))
    elif not pod_resources.is_native(name) and not pod_resources.is_extended(name):
        found.append(field.invalid(path, name, "doesn't follow extended resource name standard"))


def _pod_name(name: str, path: str, found: list[FieldError]) -> None:
    if validate_name(name, path, found) and not pod_resources.is_pod_level(name):
        found.append(field.not_supported(path, name, _POD_LEVEL_SHOWN))


def _claims(claims: Sequence[Obj], known: ClaimNames, path: str, found: list[FieldError]) -> None:
    """Checks that each claim names an entry of the pod's `resourceClaims`, and none is named twice."""
    seen: set[str] = set()
    parts_seen: dict[str, int] = {}
    listed = ": " + ", ".join(sorted(known)) if known else " which is empty"
    unknown = f"must be one of the names in pod.spec.resourceClaims{listed}"
    for i, claim in enumerate(claims):
        here, name, request = f"{path}[{i}]", claim.get("name") or "", claim.get("request") or ""
        if not name:
            found.append(field.required(here))
            continue
        if name in seen:
            found.append(field.duplicate(here, name))
        else:
            key = name
            if request:
                found += [field.invalid(f"{here}.request", request, t) for t in names.dns1123_label(request)]
                key = f"{name}/{request}"
            if key in seen:
                found.append(field.duplicate(here, key))
            elif not request:
                # Naming the whole claim after parts of it overlaps with each of them.
                found += [field.duplicate(here, name)] * parts_seen.get(name, 0)
            if key not in seen:
                seen.add(key)
                whole = key.partition("/")[0]
                parts_seen[whole] = parts_seen.get(whole, 0) + 1
        if name not in known:
            found.append(FieldError("FieldValueNotFound", here, name, unknown))


def validate_pod_resources(spec: Obj, claim_names: ClaimNames, path: str, found: list[FieldError]) -> None:
    """Checks the pod's own `resources`, alone and against those of its containers."""
    resources, here = spec["resources"], f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        found.append(field.forbidden(here, "may not be set for a windows pod"))
        return
    if resources.get("claims"):
        found.append(field.forbidden(f"{here}.claims", "claims may not be set for Resources at pod-level"))
    validate_requirements(resources, claim_names, here, found, pod_level=True)
    _consistent(spec, resources, here, found)


def _consistent(spec: Obj, resources: Obj, path: str, found: list[FieldError]) -> None:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, total in pod_resources.container_requests(spec).items():
        own = requests.get(name)
        if own is not None and quantity.compare(total, own) > 0:
            text = f"must be greater than or equal to aggregate container requests of {total}"
            found.append(field.invalid(f"{path}.requests[{name}]", own, text))
    for name, total in pod_resources.container_limits(spec).items():
        own = limits.get(name) if name.startswith(pod_resources.HUGE_PAGES) else None
        if own is not None and quantity.compare(total, own) > 0:
            text = f"must be greater than or equal to aggregate container limits of {total}"
            found.append(field.invalid(f"{path}.limits[{name}]", own, text))
    for i, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            own = limits.get(name)
            if own is not None and quantity.compare(limit, own) > 0:
                text = f"must be less than or equal to pod limits of {own}"
                found.append(field.invalid(f"{path}.containers[{i}][{name}].limits", limit, text))


def validate_resource_claims(
    claims: Sequence[Obj], path: str, found: list[FieldError], *, mirror: bool = False
) -> None:
    """Checks `spec.resourceClaims`. `mirror` pods, written by a node, may have none."""
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        here, name = f"{path}[{i}]", claim.get("name") or ""
        if mirror:
            found.append(field.forbidden("", "static pods do not support resource claims"))
            continue
        if not name:
            found.append(field.required(f"{here}.name"))
        elif name in seen:
            found.append(field.duplicate(f"{here}.name", name))
        else:
            found += [field.invalid(f"{here}.name", name, text) for text in names.dns1123_label(name)]
            seen.add(name)
        sources = [claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")]
        shown = {"Name": name, "ResourceClaimName": sources[0], "ResourceClaimTemplateName": sources[1]}
        if None not in sources:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            found.append(field.invalid(here, shown, text))
        if sources == [None, None]:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            found.append(field.invalid(here, shown, text))
        for key, value in zip(("resourceClaimName", "resourceClaimTemplateName"), sources, strict=True):
            if value is not None:
                found += [field.invalid(f"{here}.{key}", value, t) for t in names.dns1123_subdomain(value)]
