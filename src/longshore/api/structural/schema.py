"""One kind's compiled schema, and all that is done with it."""

from __future__ import annotations

from functools import cached_property

from longshore.api.field import FieldError
from longshore.api.shape import MapShape
from longshore.api.structural import defaults, embedded, lists, prune, shapes, validate
from longshore.api.structural.node import ABSENT, of_kind
from longshore.api.types import Obj, copy_of


class Schema:
    """The schema of a kind. Objects come without apiVersion and kind."""

    def __init__(self, schema: Obj, *, status_apart: bool) -> None:
        self.node = of_kind(schema)
        self._status_apart = status_apart

    @cached_property
    def shape(self) -> MapShape:
        """The type of the kind, for server-side apply."""
        return shapes.of_kind(self.node, status_apart=self._status_apart)

    def coerce(self, obj: Obj) -> list[str]:
        """Reads metadata as metadata and drops unknown fields, in place; returns the paths of these.

        Raises DecodeError for metadata that is none.
        """
        unknown = embedded.coerce_metadata(obj, "metadata")
        unknown += prune.prune(obj, self.node)
        if self.node.embeds_below:
            unknown += embedded.coerce(obj, self.node)
        return unknown

    def fill(self, obj: Obj) -> None:
        """Fills in defaults, in place."""
        defaults.fill(obj, self.node)

    def fitted(self, obj: Obj) -> Obj:
        """A stored object as this schema has it; the very same one when that changes nothing."""
        own: Obj = copy_of(obj)
        prune.prune(own, self.node)
        defaults.fill(own, self.node)
        return obj if own == obj else own

    def problems(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """Everything wrong with an object; on an update, what was wrong before is forgiven."""
        node = self.node
        found = validate.problems(obj, node, ABSENT if old is None else old)
        if node.embeds_below:
            found += embedded.problems(obj, node)
        if node.lists_below and (repeated := lists.problems(obj, node)):
            found += repeated if old is None or not lists.problems(old, node) else []
        return found
