"""The behaviour of a kind whose schema is structural: a user's own, or one of Volcano's.

The schema is compiled, and the code that enforces it loaded, when the first object of such a kind comes
along: a server that has none pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from longshore.api import reads
from longshore.api.field import FieldError
from longshore.api.kinds.custom import CustomResourceStrategy, WithoutStatusStrategy
from longshore.api.reads import Rules
from longshore.api.strategy import Context
from longshore.api.structural import scale
from longshore.api.structural.scale import ScalePaths
from longshore.api.types import Obj
from longshore.api.validation import metadata

if TYPE_CHECKING:
    from longshore.api.structural.kind_schema import Schema


class StructuralStrategy(CustomResourceStrategy):
    """A custom kind with a schema and a /status subresource."""

    keeps_parts: ClassVar[bool] = True

    def __init__(
        self, source: Callable[[], Obj], scale_paths: ScalePaths | None = None, *, lasts: bool = False
    ) -> None:
        """`source` gives the schema as the definition has it; `lasts` when it never changes."""
        self._source, self._lasts = source, lasts
        self.scale = scale_paths
        if lasts:
            self.rules = _RULES  # what a schema says can be relied on as long as it stays

    @cached_property
    def schema(self) -> Schema:
        from longshore.api.structural.kind_schema import Schema

        return Schema(self._source(), status_apart=self.has_status, lasts=self._lasts)

    def coerce(self, obj: Obj) -> list[str]:
        return [f'unknown field "{path}"' for path in self.schema.coerce(obj)]

    def part(self, name: str, value: Obj) -> Obj | None:
        return self.schema.part(name, value)

    def default(self, obj: Obj) -> None:
        _fill(self.schema, obj)

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return self._problems(obj, None)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return self._problems(new, old)

    def validate_status(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return self._problems(new, old)

    def _problems(self, obj: Obj, old: Obj | None) -> list[FieldError]:
        found = _schema_problems(self.schema, obj, old)
        return found + scale.problems(obj, self.scale) if self.scale is not None else found

    def warnings_create(self, obj: Obj, ctx: Context) -> list[str]:
        return _finalizer_warnings(obj)

    def warnings_update(self, new: Obj, old: Obj, ctx: Context) -> list[str]:
        return metadata.finalizer_warnings(new["metadata"], old["metadata"])


@reads.reads()
def _fill(schema: Schema, obj: Obj) -> None:
    schema.fill(obj)


@reads.reads()
def _schema_problems(schema: Schema, obj: Obj, old: Obj | None) -> list[FieldError]:
    return schema.problems(obj, old)


@reads.reads("metadata.finalizers", again=lambda new: "finalizers" not in new.obj["metadata"])
def _finalizer_warnings(obj: Obj) -> list[str]:
    return metadata.finalizer_warnings(obj["metadata"])


_RULES: Final = Rules((_fill,), (_schema_problems, _finalizer_warnings))


class WithoutStatus(StructuralStrategy, WithoutStatusStrategy):
    """A custom kind with a schema whose status, if it has one, is written with the rest."""


class Converting(StructuralStrategy):
    """A kind whose objects may have been stored by another schema: another version's, or an older one."""

    converts: ClassVar[bool] = True
    keeps_parts: ClassVar[bool] = False

    def from_storage(self, obj: Obj) -> Obj:
        return self.schema.fitted(obj)


class ConvertingWithoutStatus(Converting, WithoutStatus):
    """A converting kind without a /status subresource."""
