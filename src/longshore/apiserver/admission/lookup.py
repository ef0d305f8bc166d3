"""The questions admission may ask of the store, and the names of objects in its refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from longshore.api import errors
from longshore.api.resources import Resource
from longshore.api.types import Obj

Get: TypeAlias = Callable[[str, str, str], Obj | None]
"""(storage, namespace, name) -> the newest object, staged writes included; None when there is none."""
List: TypeAlias = Callable[[str, str], Iterable[Obj]]
"""(storage, namespace) -> the newest objects, staged writes included; namespace "" for cluster scope."""


def shown_name(obj: Obj) -> str:
    """An object's name; before a name is generated, its generateName or a stand-in."""
    meta = obj.get("metadata") or {}
    name: str = meta.get("name") or meta.get("generateName") or "Unknown"
    return name


def forbidden(resource: Resource, obj: Obj, why: str) -> errors.StatusError:
    """The 403 for an object that admission refuses."""
    return errors.forbidden(resource.group, resource.plural, shown_name(obj), why)


def forbidden_pod(pod: Obj, why: str) -> errors.StatusError:
    """The 403 for a pod that admission refuses."""
    return errors.forbidden("", "pods", shown_name(pod), why)
