"""At most one PriorityClass is the default for pods that name none."""

from __future__ import annotations

from collections.abc import Iterable

from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.admission.lookup import forbidden


def check_only_default(resource: Resource, new: Obj, classes: Iterable[Obj]) -> None:
    """Raises a 403 if `new` is marked as the global default and another class already is."""
    if not new.get("globalDefault"):
        return
    name = new["metadata"].get("name")
    for other in classes:
        if other.get("globalDefault") and other["metadata"]["name"] != name:
            raise forbidden(
                resource,
                new,
                f"PriorityClass {other['metadata']['name']} is already marked as default. "
                "Only one default can exist",
            )
