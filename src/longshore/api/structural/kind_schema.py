"""One kind's compiled schema, and all that is done with it."""

from __future__ import annotations

from functools import cached_property

from longshore.api.field import FieldError
from longshore.api.shape import MapShape
from longshore.api.structural import defaults, embedded, lists, prune, shapes, validate
from longshore.api.structural.node import ABSENT, of_kind
from longshore.api.structural.wording import Problem
from longshore.api.types import Obj, copy_of, decode, encode, is_same


class Schema:
    """The schema of a kind. Objects come without apiVersion and kind."""

    def __init__(self, schema: Obj, *, status_apart: bool, lasts: bool = False) -> None:
        """`lasts` says that it comes with the program and never changes."""
        self.node = of_kind(schema)
        self._status_apart, self._lasts = status_apart, lasts
        self._by_part = (
            not self.node.embeds_below
            and self.node.judges_members_alone
            and not (self.node.additional is not None and self.node.additional.lists_below)
        )
        self._lists = tuple(name for name, own in self.node.properties.items() if own.lists_below)

    @cached_property
    def shape(self) -> MapShape:
        """The type of the kind, for server-side apply."""
        whole = shapes.of_kind(self.node, status_apart=self._status_apart)
        whole.lasts = self._lasts
        return whole

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

    def part(self, name: str, value: Obj) -> Obj | None:
        """One part of an object, a copy, read as `coerce` and `fill` read it within the whole. None where
        only the whole tells: unknown fields to complain of, resources inside, no schema of that name."""
        node = self.node.properties.get(name)
        if node is None or node.embeds_below:
            return None
        own: Obj = decode(encode(value))
        if prune.prune(own, node):
            return None
        defaults.fill(own, node)
        return own

    def problems(self, obj: Obj, old: Obj | None = None) -> list[FieldError]:
        """Everything wrong with an object; on an update, what was wrong before is forgiven."""
        node = self.node
        if old is not None and self._by_part and self._changes_are_right(obj, old):
            return []
        found = validate.problems(obj, node, ABSENT if old is None else old)
        if node.embeds_below:
            found += embedded.problems(obj, node)
        if node.lists_below and (repeated := lists.problems(obj, node)):
            found += repeated if old is None or not lists.problems(old, node) else []
        return found

    def _changes_are_right(self, obj: Obj, old: Obj) -> bool:
        """Whether nothing is wrong with what is not as it was. Most updates change one part, and of
        the others nothing would be complained of."""
        node = self.node
        found: list[Problem] = []
        validate.check_changes(obj, old, node, None, found)
        if found:
            return False
        parts = {
            name: obj[name]
            for name in self._lists
            if name in obj and not (name in old and is_same(obj[name], old[name]))
        }
        return not (parts and lists.problems(parts, node))
