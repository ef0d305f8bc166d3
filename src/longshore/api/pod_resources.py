"""The resources of a pod, all containers together, and the kinds of resources.

Amounts are quantities in canonical text, as they stand in objects. Init containers run one after the other
before the rest, so only the largest counts. Sidecars (init containers that keep running) are added to the
containers that run after them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, TypeAlias

from longshore.api import label_syntax, quantity
from longshore.api.types import Obj

Amounts: TypeAlias = dict[str, str]

HUGE_PAGES: Final = "hugepages-"
POD_LEVEL: Final = ("cpu", "memory")
"""The resources, besides huge pages, that a pod can request as a whole."""


def is_native(name: str) -> bool:
    """Whether Kubernetes itself defines the resource."""
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    """Whether the resource is an extended one, such as `example.com/gpu`."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not label_syntax.qualified_name("requests." + name)


def can_overcommit(name: str) -> bool:
    """Whether a limit may be above the request."""
    return is_native(name) and not name.startswith(HUGE_PAGES)


def is_pod_level(name: str) -> bool:
    return name in POD_LEVEL or name.startswith(HUGE_PAGES)


def fits_huge_pages(name: str, amount: str) -> bool:
    """Whether the amount is a whole number of pages of the size in the name (`hugepages-2Mi`)."""
    try:
        size = quantity.parse(name.removeprefix(HUGE_PAGES)).amount
    except quantity.QuantityError:
        return False
    if size <= 0 or size != size.to_integral_value():
        return False
    return quantity.value(amount) % int(size) == 0


def pod_requests(spec: Obj) -> Amounts:
    """The pod's requests, for nodes and quotas: its containers, its own requests, its overhead."""
    total = container_requests(spec)
    _put_pod_level(total, spec, "requests")
    for name, amount in (spec.get("overhead") or {}).items():
        total[name] = quantity.add(total[name], amount) if name in total else amount
    return total


def _put_pod_level(total: Amounts, spec: Obj, key: str) -> None:
    """Replaces the containers' amounts by those of the pod itself."""
    for name, amount in ((spec.get("resources") or {}).get(key) or {}).items():
        if is_pod_level(name):
            total[name] = amount


def pod_limits(spec: Obj) -> Amounts:
    """The pod's limits. Overhead is added to existing limits only."""
    total = container_limits(spec)
    _put_pod_level(total, spec, "limits")
    for name, amount in (spec.get("overhead") or {}).items():
        if name in total:
            total[name] = quantity.add(total[name], amount)
    return total


def container_requests(spec: Obj) -> Amounts:
    """The requests of all containers together."""
    return _together(spec, "requests")


def container_limits(spec: Obj) -> Amounts:
    """The limits of all containers together."""
    return _together(spec, "limits")


def _together(spec: Obj, which: Literal["requests", "limits"]) -> Amounts:
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, (container.get("resources") or {}).get(which))
    inits = spec.get("initContainers")
    if not inits:
        return total
    sidecars: Amounts = {}
    highest: Amounts = {}
    for container in inits:
        own = (container.get("resources") or {}).get(which)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            _raise(highest, sidecars)
        else:
            step = dict(own or {})
            _add(step, sidecars)
            _raise(highest, step)
    _raise(total, highest)
    return total


def _add(total: Amounts, more: Amounts | None) -> None:
    for name, amount in (more or {}).items():
        total[name] = quantity.add(total[name], amount) if name in total else amount


def _raise(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if name not in total or quantity.compare(amount, total[name]) > 0:
            total[name] = amount


def qos_class(spec: Obj) -> str:
    """`Guaranteed`, `Burstable` or `BestEffort`, by how requests and limits of cpu and memory compare."""
    own = spec.get("resources")
    if own is not None:
        return _shape(own)
    result = ""
    for part in ("initContainers", "containers"):
        for container in spec.get(part) or ():
            shape = _shape(container.get("resources") or {})
            if shape == "Burstable" or (result and shape != result):
                return "Burstable"
            result = shape
    return result or "BestEffort"


def _shape(resources: Obj) -> str:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    if not requests and not limits:
        return "BestEffort"
    result = ""
    for name in POD_LEVEL:
        request, limit = requests.get(name, "0"), limits.get(name, "0")
        if request != limit and quantity.compare(request, limit):
            return "Burstable"
        shape = "BestEffort" if quantity.is_zero(request) else "Guaranteed"
        if result and shape != result:
            return "Burstable"
        result = shape
    return result
