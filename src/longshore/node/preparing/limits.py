"""A container's requests and limits in the numbers a runtime takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.node.runtime import Limits

NONE: Final = Limits()


def of_container(spec: Obj, pod_spec: Obj) -> Limits:
    """The container's own limits, or the pod's for resources of which the container has none."""
    resources = spec.get("resources")
    whole = pod_spec.get("resources")
    if not resources and not whole:
        return NONE
    limits = {**((whole or {}).get("limits") or {}), **((resources or {}).get("limits") or {})}
    requests = (resources or {}).get("requests") or {}
    return _limits(limits.get("cpu"), requests.get("cpu"), limits.get("memory"))


@lru_cache(maxsize=1024)
def _limits(cpu: str | None, request: str | None, memory: str | None) -> Limits:
    return Limits(
        cpu_millis=_positive(None if cpu is None else quantity.milli_value(cpu)),
        cpu_request_millis=_positive(None if request is None else quantity.milli_value(request)),
        memory=_positive(None if memory is None else quantity.value(memory)),
    )


def _positive(amount: int | None) -> int | None:
    """A limit of zero is none, as for every container runtime."""
    return amount or None
