"""The questions admission may ask of the store, and the names of objects in its refusals."""

from __future__ import annotations

from longshore.api import errors
from longshore.api.reads import Get as Get
from longshore.api.reads import List as List
from longshore.api.resources import Resource
from longshore.api.types import Obj


def shown_name(obj: Obj) -> str:
    """An object's name, or what stands in for it before a name is generated."""
    meta = obj.get("metadata") or {}
    name: str = meta.get("name") or meta.get("generateName") or "Unknown"
    return name


def forbidden(resource: Resource, obj: Obj, why: str) -> errors.StatusError:
    """The 403 of an object that admission turns away."""
    return errors.forbidden(resource.group, resource.plural, shown_name(obj), why)
