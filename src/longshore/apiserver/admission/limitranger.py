"""LimitRanges: defaults for containers without requests or limits, and refusals of amounts out of bounds.

Pods are checked when they are created or resized, claims on every write. An update is checked only for the
amounts that it changes, so bounds that came later do not refuse it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Final

from longshore.api import pod_resources, quantity
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.admission.lookup import forbidden

STORAGE: Final = "limitranges"
ANNOTATION: Final = "kubernetes.io/limit-ranger"
Amounts = Mapping[str, str]


def set_defaults(pod: Obj, ranges: Iterable[Obj]) -> None:
    """Gives containers the namespace's default requests and limits, and notes which in an annotation."""
    for limit_range in ranges:
        limits, requests = _defaults(limit_range)
        if not limits and not requests:
            continue
        notes: list[str] = []
        for part, word in (("containers", "container"), ("initContainers", "init container")):
            for container in pod["spec"].get(part) or ():
                whose = f"for {word} {container.get('name', '')}"
                resources = container.setdefault("resources", {})
                set_limits = _fill(resources, "limits", limits)
                set_requests = _fill(resources, "requests", requests)
                if set_requests:
                    notes.append(f"{', '.join(set_requests)} request {whose}")
                if set_limits:
                    notes.append(f"{', '.join(set_limits)} limit {whose}")
        if notes:
            annotations = pod["metadata"].setdefault("annotations", {})
            annotations[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _defaults(limit_range: Obj) -> tuple[Amounts, Amounts]:
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    for item in limit_range["spec"].get("limits") or ():
        if item.get("type") == "Container":
            limits.update(item.get("default") or {})
            requests.update(item.get("defaultRequest") or {})
    return limits, requests


def _fill(resources: Obj, key: str, defaults: Amounts) -> list[str]:
    """Adds the amounts that are missing and returns their names."""
    missing = sorted(name for name in defaults if name not in (resources.get(key) or {}))
    if missing:
        own = resources[key] = dict(resources.get(key) or {})
        own.update((name, defaults[name]) for name in missing)
    return missing


def check(resource: Resource, new: Obj, ranges: Iterable[Obj], old: Obj | None = None) -> None:
    """Raises a 403 for a pod or claim out of bounds, with all problems in one list."""
    problems_of = _CHECKS.get(resource.storage)
    if problems_of is None:
        return
    for limit_range in ranges:
        problems = list(dict.fromkeys(problems_of(limit_range, new, old)))
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise forbidden(resource, new, text)


def _pod_problems(limit_range: Obj, pod: Obj, old: Obj | None) -> Iterator[str]:
    before = (old or {}).get("spec") or {}
    for item in limit_range["spec"].get("limits") or ():
        if item.get("type") == "Container":
            for part in ("containers", "initContainers"):
                known = {c["name"]: c for c in before.get(part) or ()}
                for container in pod["spec"].get(part) or ():
                    was = known.get(container["name"])
                    yield from _bounds(
                        item, *_amounts(container), *(_amounts(was) if was is not None else (None, None))
                    )
        elif item.get("type") == "Pod":
            yield from _bounds(
                item,
                pod_resources.pod_requests(pod["spec"]),
                pod_resources.pod_limits(pod["spec"]),
                pod_resources.pod_requests(before) if old is not None else None,
                pod_resources.pod_limits(before) if old is not None else None,
            )


def _amounts(container: Obj) -> tuple[Amounts, Amounts]:
    resources = container.get("resources") or {}
    return resources.get("requests") or {}, resources.get("limits") or {}


def _bounds(
    item: Obj, requests: Amounts, limits: Amounts, old_requests: Amounts | None, old_limits: Amounts | None
) -> Iterator[str]:
    kind = item["type"]

    def same(name: str) -> bool:
        return (
            old_requests is not None
            and old_limits is not None
            and requests.get(name) == old_requests.get(name)
            and limits.get(name) == old_limits.get(name)
        )

    for name, low in (item.get("min") or {}).items():
        if not same(name):
            yield from _minimum(kind, name, low, requests.get(name), limits.get(name))
    for name, high in (item.get("max") or {}).items():
        if not same(name):
            yield from _maximum(kind, name, high, requests.get(name), limits.get(name))
    for name, ratio in (item.get("maxLimitRequestRatio") or {}).items():
        if not same(name):
            yield from _ratio(kind, name, ratio, requests.get(name), limits.get(name))


def _minimum(kind: str, name: str, low: str, request: str | None, limit: str | None) -> Iterator[str]:
    head = f"minimum {name} usage per {kind} is {low}"
    if request is None:
        yield f"{head}.  No request is specified"
    elif quantity.compare(request, low) < 0:
        yield f"{head}, but request is {request}"
    elif limit is not None and quantity.compare(limit, low) < 0:
        yield f"{head}, but limit is {limit}"


def _maximum(kind: str, name: str, high: str, request: str | None, limit: str | None) -> Iterator[str]:
    head = f"maximum {name} usage per {kind} is {high}"
    if limit is None:
        yield f"{head}.  No limit is specified"
    elif quantity.compare(limit, high) > 0:
        yield f"{head}, but limit is {limit}"
    elif request is not None and quantity.compare(request, high) > 0:
        yield f"{head}, but request is {request}"


def _ratio(kind: str, name: str, most: str, request: str | None, limit: str | None) -> Iterator[str]:
    head = f"{name} max limit to request ratio per {kind} is {most}, but"
    if request is None or quantity.is_zero(request):
        yield f"{head} no request is specified or request is 0"
    elif limit is None or quantity.is_zero(limit):
        yield f"{head} no limit is specified or limit is 0"
    else:
        found: Decimal = quantity.parse(limit).amount / quantity.parse(request).amount
        if found > quantity.parse(most).amount:
            yield f"{head} provided ratio is {found:.6f}"


def _claim_problems(limit_range: Obj, claim: Obj, old: Obj | None) -> Iterator[str]:
    requests, _ = _amounts(claim["spec"])
    before = _amounts((old or {}).get("spec") or {})[0]
    for item in limit_range["spec"].get("limits") or ():
        if item.get("type") != "PersistentVolumeClaim":
            continue
        for name, low in (item.get("min") or {}).items():
            if name not in before or before[name] != requests.get(name):
                yield from _minimum(item["type"], name, low, requests.get(name), None)
        for name, high in (item.get("max") or {}).items():
            request = requests.get(name)
            if name in before and before[name] == request:
                continue
            head = f"maximum {name} usage per {item['type']} is {high}"
            if request is None:
                yield f"{head}.  No request is specified"
            elif quantity.compare(request, high) > 0:
                yield f"{head}, but request is {request}"


_CHECKS: Final = {"pods": _pod_problems, "persistentvolumeclaims": _claim_problems}
