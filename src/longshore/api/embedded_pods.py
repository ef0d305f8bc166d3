"""The pods in an object: the object itself, or the pod templates in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from longshore.api.types import Obj

EACH: Final = "*"
"""The step of a path that stands for every entry of a list."""
_OF_TASKS: Final = ("tasks", EACH, "template")
PATHS: Final[dict[str, tuple[str, ...]]] = {
    "pods": (),
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "batch/jobs": ("spec", "template"),
    "batch/cronjobs": ("spec", "jobTemplate", "spec", "template"),
    "batch.volcano.sh/jobs": ("spec", *_OF_TASKS),
    "batch.volcano.sh/cronjobs": ("spec", "jobTemplate", "spec", *_OF_TASKS),
    "flow.volcano.sh/jobtemplates": ("spec", *_OF_TASKS),
    "flow.volcano.sh/jobflows": ("spec", "flows", EACH, "patch", "jobSpec", *_OF_TASKS),
}
"""By storage, the path to the pods."""
_SPEC_SUBRESOURCES: Final = ("", "ephemeralcontainers", "resize")
"""The subresources through which a write may change a pod's spec."""


def may_change(storage: str, subresource: str) -> bool:
    """Whether a write may change the specs of pods."""
    if storage not in PATHS:
        return False
    return subresource in _SPEC_SUBRESOURCES if storage == "pods" else not subresource


def of(storage: str, obj: Obj) -> list[Obj]:
    """The pods in an object, each with `metadata` and `spec`; none for a kind that has none."""
    path = PATHS.get(storage)
    return [] if path is None else list(_found(obj, path))


def _found(value: Any, path: tuple[str, ...]) -> Iterator[Obj]:
    if not path:
        if isinstance(value, dict):
            yield value
    elif path[0] == EACH:
        for each in value if isinstance(value, list) else ():
            yield from _found(each, path[1:])
    elif isinstance(value, dict):
        yield from _found(value.get(path[0]), path[1:])
