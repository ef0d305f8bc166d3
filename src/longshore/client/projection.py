"""A projection says, as data, which fields of a kind are read. Its decoder skips all other fields.

Each controller declares one projection per kind; a process reads the union of those of its controllers. A
projected object must not be written back as a whole, unless it has everything but `managedFields`
(`WRITABLE`): a server keeps those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeAlias, TypedDict, TypeVar

import msgspec

from longshore.api.types import Obj

_ALWAYS: Final = (
    "name", "namespace", "uid", "resourceVersion", "ownerReferences", "finalizers", "deletionTimestamp",
)  # fmt: skip
"""Fields of the metadata that are part of every projection: identity, state, and links to other objects."""
_Tree: TypeAlias = "dict[str, _Tree]"
"""The fields below a field; empty for all of them."""
T = TypeVar("T")


class Line(msgspec.Struct, Generic[T]):
    """One event of a watch."""

    type: str
    object: T


class Listed(msgspec.Struct, Generic[T]):
    """One page of a list."""

    kind: str = ""
    metadata: Obj | None = None
    items: list[T] | None = None


class Projection:
    """Fields by dotted path, such as `spec.containers.name`, which leads through lists, too. A path whose
    words have dots is a tuple."""

    def __init__(self, *fields: str | tuple[str, ...]) -> None:
        self._tree: _Tree = {}
        for path in (*(("metadata", name) for name in _ALWAYS), *fields):
            inner = self._tree
            for word in path.split(".") if isinstance(path, str) else path:
                inner = inner.setdefault(word, {})
        self._decoders: dict[str, Callable[[bytes], Any]] = {}

    def __or__(self, other: Projection) -> Projection:
        return _of_tree(_joined(self._tree, other._tree))

    def covers(self, other: Projection) -> bool:
        """Whether every field of the other projection is one of this."""
        return _covers(self._tree, other._tree)

    def of(self, obj: Obj) -> Obj:
        """A copy of the object with only these fields, sharing their values. `WHOLE` returns the object."""
        found: Obj = _cut(obj, self._tree)
        return found

    def one(self, body: bytes) -> Obj:
        """The fields of the object in `body`."""
        found: Obj = self._decoder("one")(body)
        return found

    def line(self, line: bytes) -> Line[Obj]:
        """The event in a line of a watch. Errors and bookmarks are read whole, and so is an object of an
        unexpected form."""
        try:
            found: Line[Obj] = self._decoder("line")(line)
        except msgspec.ValidationError:
            found = _whole_line(line)
            return found if found.type == "ERROR" else Line(found.type, self.of(found.object))
        return _whole_line(line) if found.type in ("ERROR", "BOOKMARK") else found

    def page(self, body: bytes) -> Listed[Obj]:
        """The objects in the answer to a list."""
        found: Listed[Obj] = self._decoder("page")(body)
        return found

    def _decoder(self, form: str) -> Callable[[bytes], Any]:
        """The decoder of a form, made on first use: few projections are used over a network."""
        made = self._decoders.get(form)
        if made is None:
            shape: Any = _shape(self._tree) if self._tree else Obj
            wanted = {"one": shape, "line": Line[shape], "page": Listed[shape]}[form]
            made = self._decoders[form] = msgspec.json.Decoder(wanted).decode
        return made


def _of_tree(tree: _Tree) -> Projection:
    made = Projection()
    made._tree = tree
    return made


def _joined(one: _Tree, other: _Tree) -> _Tree:
    if not one or not other:
        return {}
    both = one | other
    return {word: _joined(one.get(word, tree), other.get(word, tree)) for word, tree in both.items()}


def _covers(wide: _Tree, narrow: _Tree) -> bool:
    if not wide or not narrow:
        return not wide
    return all(word in wide and _covers(wide[word], inner) for word, inner in narrow.items())


def _cut(value: Any, tree: _Tree) -> Any:
    if not tree:
        return value
    if isinstance(value, list):
        return [_cut(item, tree) for item in value]
    if not isinstance(value, dict):
        return value
    return {word: _cut(value[word], inner) for word, inner in tree.items() if word in value}


def _shape(tree: _Tree) -> Any:
    """A TypedDict of these fields. A field that has fields may be an object, a list of them, or null."""
    make: Any = TypedDict  # of a table, which no checker can know
    fields: dict[str, Any] = {}
    for word, inner in tree.items():
        below: Any = _shape(inner) if inner else None
        fields[word] = Any if below is None else below | list[below] | None
    return make("Part", fields, total=False)


WHOLE: Final = _of_tree({})
"""Every field."""
WRITABLE: Final = Projection(
    *(f"metadata.{name}" for name in ("annotations", "labels", "creationTimestamp", "generateName")),
    *(f"metadata.{name}" for name in ("deletionGracePeriodSeconds", "generation")),
    *("spec", "status"),
)
"""Every field of an object with spec and status except `managedFields`."""
_whole_line: Final = msgspec.json.Decoder(Line[Obj]).decode
