"""Volcano's kinds: custom resources whose definitions longshore brings with it.

`data/volcano.json` holds their schemas as facts of Volcano's own definitions: names, types, limits,
defaults. `$ref` there names a definition of the same file or, with a slash, one of Kubernetes' messages
(a Job's tasks have whole pod templates). The file is read when the first schema is needed.

What Volcano checks beyond its schemas (admission) is not here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from longshore.api import types
from longshore.api.kinds.structural import StructuralStrategy, WithoutStatus
from longshore.api.types import Obj

Foreign = Callable[[str], Obj]
"""Gives the schema that stands for one of Kubernetes' messages."""


def strategy(group_version: str, kind: str, *, status: bool) -> StructuralStrategy:
    """The behaviour of one of Volcano's kinds."""
    schema = partial(schema_of, group_version, kind)
    return (StructuralStrategy if status else WithoutStatus)(schema, lasts=True)


def schema_of(group_version: str, kind: str, foreign: Foreign | None = None) -> Obj:
    """The schema of a kind, with all references resolved. Equal parts are the same dict."""
    if foreign is None:
        from longshore.api.structural import messages

        foreign = messages.of_message
    return _Resolver(foreign).kind(_data()["kinds"][f"{group_version} {kind}"])


@cache
def _data() -> Obj:
    file = Path(__file__).parent.parent / "data" / "volcano.json"
    data: Obj = types.decode(file.read_bytes())
    return data


class _Resolver:
    def __init__(self, foreign: Foreign) -> None:
        self._foreign = foreign
        self._definitions: dict[str, Obj] = {}

    def kind(self, properties: Obj) -> Obj:
        return {"type": "object", "properties": {k: self._resolved(v) for k, v in properties.items()}}

    def _resolved(self, value: Any) -> Any:
        if type(value) is list:
            return [self._resolved(item) for item in value]
        if type(value) is not dict:
            return value
        if "$ref" not in value:
            return {key: self._resolved(inner) for key, inner in value.items()}
        target = self._target(value["$ref"])
        # A default beside a reference belongs to this one use of it.
        return {**target, "default": value["default"]} if "default" in value else target

    def _target(self, name: str) -> Obj:
        if "/" in name:
            return self._foreign(name)
        if name not in self._definitions:
            self._definitions[name] = self._resolved(_data()["definitions"][name])
        return self._definitions[name]
