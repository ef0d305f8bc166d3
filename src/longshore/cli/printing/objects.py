"""Whole objects: JSON, YAML, names."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from longshore.cli.main import Said

if TYPE_CHECKING:
    from longshore.api.types import Obj

FORMATS: Final = "json, yaml, name, wide, jsonpath=…, jsonpath-as-json=…, custom-columns=…"
_ESCAPES: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def as_json(value: Any) -> str:
    """JSON in Go's layout: keys sorted, four spaces, HTML's special characters escaped."""
    return json.dumps(value, indent=4, sort_keys=True, ensure_ascii=False).translate(_ESCAPES) + "\n"


def as_yaml(value: Any) -> str:
    from longshore.api.codec import yamltext

    return yamltext.encode_yaml(value).decode()


def without_managed_fields(obj: Obj) -> Obj:
    meta = obj.get("metadata") or {}
    if "managedFields" not in meta:
        return obj
    return {**obj, "metadata": {key: value for key, value in meta.items() if key != "managedFields"}}


def as_list(objects: Sequence[Obj]) -> Obj:
    """A `List` of the objects, for output that may hold several."""
    return {"apiVersion": "v1", "items": [*objects], "kind": "List", "metadata": {"resourceVersion": ""}}


def writer(output: str) -> Callable[[Any], str]:
    """The function from an object (or a list made by `as_list`) to text. Raises Failure for an unknown
    format."""
    kind, _, more = output.partition("=")
    match kind:
        case "json":
            return as_json
        case "yaml":
            return lambda value: as_yaml(value)
        case "jsonpath":
            from longshore.cli.printing import path_templates

            return path_templates.jsonpath(more)
        case "jsonpath-as-json":
            from longshore.cli.printing import path_templates

            return path_templates.jsonpath_as_json(more)
        case "custom-columns":
            from longshore.cli.printing import path_templates

            table = path_templates.custom_columns(more)
            return lambda value: table(value["items"] if value.get("kind") == "List" else [value])
    raise Said(f'error: unable to match a printer suitable for the output format "{output}": {FORMATS}', 2)
