"""The behaviour of a custom resource, whether its schema is built in (Volcano's) or a user's.

A PUT needs a resourceVersion. With a /status subresource, status is apart: a write to /status changes only
the status, no labels. Without one, status is a field like any other, so changing it moves the generation.

The schema is compiled when the first object of a custom kind is written or read, and the code that enforces
it is loaded only then. A server without such objects does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.structural import scale
from longshore.api.structural.scale import ScalePaths
from longshore.api.types import Obj, is_same
from longshore.api.validation import metadata

if TYPE_CHECKING:
    from longshore.api.structural.kind_schema import Schema


_ABSENT: Final = object()


class CustomKind:
    """The hooks of a custom kind with a schema."""

    def __init__(
        self, source: Callable[[], Obj], scale: ScalePaths | None, *, status: bool, lasts: bool
    ) -> None:
        self._source, self._status, self._lasts = source, status, lasts
        self.scale = scale

    @cached_property
    def schema(self) -> Schema:
        from longshore.api.structural.kind_schema import Schema

        return Schema(self._source(), status_apart=self._status, lasts=self._lasts)

    def coerce(self, obj: Obj) -> list[str]:
        return [f'unknown field "{path}"' for path in self.schema.coerce(obj)]

    def part(self, name: str, value: Obj) -> Obj | None:
        return self.schema.part(name, value)

    def default(self, obj: Obj) -> None:
        self.schema.fill(obj)

    def from_storage(self, obj: Obj) -> Obj:
        return self.schema.fitted(obj)

    def problems(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        found = self.schema.problems(obj, old)
        return found + scale.problems(obj, self.scale) if self.scale is not None else found

    def generation_changed(self, new: Obj, old: Obj) -> bool:
        now, before = self._counted(new), self._counted(old)
        return now.keys() != before.keys() or not all(is_same(now[part], before[part]) for part in now)

    def _counted(self, obj: Obj) -> Obj:
        apart = ("metadata", "status") if self._status else ("metadata",)
        return {k: v for k, v in obj.items() if k not in apart}


class StructuralStrategy(Strategy, frozen=True, kw_only=True, eq=False):
    """The row of a custom kind."""

    kind: CustomKind


def structural_strategy(
    source: Callable[[], Obj],
    scale_paths: ScalePaths | None = None,
    *,
    status: bool = True,
    converts: bool = False,
    lasts: bool = False,
) -> StructuralStrategy:
    """The behaviour of a custom kind.

    `source` returns the schema as the definition has it; `lasts` says that it never changes. Without
    `status`, the kind has no /status subresource. `converts` says that objects may have been stored by
    another schema: another version's, or an older one.
    """
    kind = CustomKind(source, scale_paths, status=status, lasts=lasts)
    strategy = StructuralStrategy(
        kind=kind,
        has_status=status,
        unconditional_update=False,
        keeps_parts=not converts,
        converts=converts,
        from_storage=kind.from_storage,
        coerce=kind.coerce,
        part=kind.part,
        default=kind.default,
        validate_create=kind.problems,
        warnings_create=lambda obj: metadata.finalizer_warnings(obj["metadata"]),
        validate_update=kind.problems,
        warnings_update=lambda new, old: metadata.finalizer_warnings(new["metadata"], old["metadata"]),
        prepare_status=_keep_all_but_status,
        validate_status=kind.problems,
        generation_changed=kind.generation_changed,
    )
    if status:
        return strategy
    untouched = {"prepare_create": lambda obj, ctx: None, "prepare_update": lambda new, old: None}
    return msgspec.structs.replace(strategy, **untouched)


def _keep_all_but_status(new: Obj, old: Obj, ctx: Context) -> None:
    status: Any = new.get("status", _ABSENT)
    managed: Any = new["metadata"].get("managedFields", _ABSENT)
    new.clear()
    new.update((key, value) for key, value in old.items() if key != "status")
    new["metadata"] = {k: v for k, v in old["metadata"].items() if k != "managedFields"}
    if managed is not _ABSENT:
        new["metadata"]["managedFields"] = managed
    if status is not _ABSENT:
        new["status"] = status
