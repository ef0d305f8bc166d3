"""The last specs that objects were created with, and what they came to."""

from __future__ import annotations

from typing import Final, TypeAlias

from longshore.api.apply import managed
from longshore.api.shape import FieldSet, Shape
from longshore.api.types import Obj

Mark: TypeAlias = tuple[str, bytes, tuple[tuple[str, ...], ...]]
"""The common part of objects with one spec: where they are stored, what they were made from, and in which
fields of containers texts were left out of that (a body may say anything in their place)."""
_Sort: TypeAlias = tuple[tuple[str, ...], ...]
_MAX_SPECS: Final = 64
_MAX_SORTS: Final = 64
_ANY_UID: Final = "any"


class Known:
    """The result of the first object of its sort. Frozen, as everything stored."""

    __slots__ = ("_owned", "_shape", "fields", "spec", "status")

    def __init__(self, obj: Obj, fields: FieldSet, shape: Shape) -> None:
        self.spec: Obj = obj["spec"]
        self.status: Obj | None = obj.get("status")
        """Every new one begins with it. Custom ones begin with none."""
        self.fields = fields
        """Of the spec as it was sent and defaulted: its part in managedFields."""
        self._owned: dict[_Sort, FieldSet] = {}
        """Of whole objects, by what their metadata has."""
        self._shape = shape

    def owned(self, meta: Obj) -> FieldSet:
        """The fields of an object with this metadata, which has at most one owner. They are all its
        creator's."""
        owners = meta.get("ownerReferences") or ()
        sort = (
            tuple(meta),
            tuple(meta.get("labels") or ()),
            tuple(meta.get("annotations") or ()),
            tuple(meta.get("finalizers") or ()),
        )
        fields = self._owned.get(sort)
        if fields is None:
            fields = self._fields_of(meta)
            if len(self._owned) < _MAX_SORTS:
                self._owned[sort] = fields
        if not owners:
            return fields
        # The one name in there that depends on a value which every Job has for itself.
        parts = fields["f:metadata"]
        own = {**parts["f:ownerReferences"]}
        own[f'k:{{"uid":"{owners[0]["uid"]}"}}'] = own.pop(f'k:{{"uid":"{_ANY_UID}"}}')
        return {**fields, "f:metadata": {**parts, "f:ownerReferences": own}}

    def _fields_of(self, meta: Obj) -> FieldSet:
        sample = {"metadata": dict(meta), "spec": self.spec}
        if self.status is not None:
            sample["status"] = {}
        if "ownerReferences" in meta:
            sample["metadata"]["ownerReferences"] = [{**meta["ownerReferences"][0], "uid": _ANY_UID}]
        managed.after_update(
            sample,
            None,
            manager="",
            api_version="",
            shape=self._shape,
            now="",
            given={"spec": self.fields},
        )
        fields: FieldSet = sample["metadata"]["managedFields"][0]["fieldsV1"]
        return fields


class SpecMemory:
    """The last few sorts of objects."""

    def __init__(self) -> None:
        self._known: dict[Mark, Known] = {}

    def find(self, mark: Mark) -> Known | None:
        return self._known.get(mark)

    def learn(self, mark: Mark, obj: Obj, fields: FieldSet, shape: Shape) -> None:
        """`obj` was created, without a warning. `fields` as of `fields_of`; none where nobody owns any."""
        if len(self._known) >= _MAX_SPECS:
            del self._known[next(iter(self._known))]
        self._known[mark] = Known(obj, fields, shape)


def fields_of(obj: Obj) -> FieldSet | None:
    """The fields of a new object's spec in its managedFields; None where these say something else, too."""
    entries: list[Obj] = obj["metadata"].get("managedFields") or []
    fields: FieldSet | None = entries[0]["fieldsV1"].get("f:spec") if len(entries) == 1 else None
    return fields
