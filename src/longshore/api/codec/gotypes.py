"""Names of Go types, as they appear in Go's type errors (`… of type []v1.Container`)."""

from __future__ import annotations

from functools import cache

from longshore.api import schema
from longshore.api.schema import Type


@cache
def name(kind: Type) -> str:
    """The Go name of a type that has no name of its own in the table."""
    if kind.kind == "list":
        return "[]" + name(kind.items)
    if kind.kind == "map":
        return "map[string]" + name(kind.items)
    if kind.kind == "message":
        return schema.message(kind.name).go_name
    return {"bytes": "[]uint8", "Verbs": "v1.Verbs", "RawExtension": "runtime.RawExtension"}.get(
        kind.name, f"v1.{kind.name}" if kind.kind == "special" else kind.name
    )


def of_element(container: str, element: Type) -> str:
    """The name of the elements of a list or map whose own name is `container`."""
    for prefix in ("[]", "map[string]"):
        if container.startswith(prefix):
            return container[len(prefix) :]
    return name(element)
