"""Creates objects with a known spec: everything that follows from a spec is computed once.

Pods of one Job differ in name, index and host name, Jobs of one script in the texts of their commands.
Reading, defaults, admission, validation and the set of owned fields of a spec cost more than the rest of a
create. For a thousand pods of one template they give the same result a thousand times. So the result for the
first spec is kept under the JSON that it was made from, and later objects share it; it is frozen like
everything stored.

`spec_differences.py` says what else rules read of an object. If a rule reads something that objects of one
spec do not share, or if the first object got a warning, each object goes the long way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

from longshore.api import codec, metadata_order, names
from longshore.api.apply import entries, managed
from longshore.api.codec import compiled
from longshore.api.resources import Resource
from longshore.api.shape import FieldSet, Shape
from longshore.api.types import Obj, encode
from longshore.api.validation import metadata
from longshore.apiserver.access import pod_rights
from longshore.apiserver.answer import Answer
from longshore.apiserver.request.negotiate import PROTOBUF
from longshore.apiserver.rest import admission, create
from longshore.apiserver.shortcuts import spec_differences
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.call import Call
    from longshore.apiserver.request.options import WriteOptions

Mark: TypeAlias = tuple[str, bytes, tuple[tuple[str, ...], ...]]
"""The key of a spec: its storage, the JSON it was made from, and the fields of containers whose texts are
left out of that JSON, because they may differ."""
_Sort: TypeAlias = tuple[tuple[str, ...], ...]
_MAX_SPECS: Final = 64
_MAX_SORTS: Final = 64
_ANY_UID: Final = "any"
_MAX_SPEC_BYTES: Final = 1 << 16
_JSON_TYPES: Final = (None, "", "application/json")
_METADATA: Final = "meta/v1.ObjectMeta"
_USUAL_METADATA: Final = frozenset((
    "name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers",
))  # fmt: skip
_PARTS: Final = {"metadata", "spec"}


class _Asked(NamedTuple):
    """An object to create, whose spec may be known."""

    meta: Obj
    """The object's metadata as it was sent."""
    mark: Mark
    texts: spec_differences.Texts
    hostname: str | None
    kind: spec_differences.Kind


class SameSpec:
    """Creates objects whose spec has passed a whole create before."""

    relies_on: ClassVar[tuple[str, ...]] = (
        "`spec_differences.py` says what the rules about a new object read besides the spec",
        "no rule reads the texts of containers: command, args, values of variables",
        "stored objects are never changed, so several may share a spec",
    )
    earns: ClassVar[str] = "25 % of a one-pod Job and 30 % of a pod of an Indexed Job (bench/jobs.py)"

    def __init__(self) -> None:
        self._known: dict[Mark, Known] = {}
        """The results for the last few specs."""
        self._pending: tuple[Call, Mark] | None = None
        """The call that goes the long way now, to learn from its result."""

    def create(self, api: Api, call: Call, wanted: WriteOptions) -> Answer | None:
        self._pending = None
        kind = spec_differences.of(call.resource.storage)
        if kind is None or wanted.dry_run or wanted.field_validation == "Ignore" or pod_rights.is_bound(call):
            return None  # a user with fewer rights may send the same spec
        asked = _asked(api, call, kind)
        if asked is None:
            return None
        known = self._known.get(asked.mark)
        if known is None:
            self._pending = call, asked.mark
            return None
        return _created(api, call, known, asked, wanted)

    def learn(self, api: Api, call: Call, obj: Obj) -> None:
        """Remembers the result of the long way, unless it gave a warning or a scheduling gate."""
        pending, self._pending = self._pending, None
        if pending is None or pending[0] is not call or call.warnings or "schedulingGates" in obj["spec"]:
            return
        fields = _fields_of(obj) if api.owns_fields else {}
        if fields is None:
            return
        if len(self._known) >= _MAX_SPECS:
            del self._known[next(iter(self._known))]
        self._known[pending[1]] = Known(obj, fields, api.shape(call.resource))


class Known:
    """The result of the first object with a spec. Frozen, as everything stored."""

    __slots__ = ("_owned", "_shape", "fields", "spec", "status")

    def __init__(self, obj: Obj, fields: FieldSet, shape: Shape) -> None:
        self.spec: Obj = obj["spec"]
        self.status: Obj | None = obj.get("status")
        """The status with which every object begins; None for custom resources."""
        self.fields = fields
        """The fields of the spec in managedFields, for the spec as it was sent and defaulted."""
        self._owned: dict[_Sort, FieldSet] = {}
        """The fields of whole objects, by the keys of their metadata."""
        self._shape = shape

    def owned(self, meta: Obj) -> FieldSet:
        """The fields in managedFields of an object with this metadata, which has at most one owner reference.
        The creator owns them all."""
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
        # The only name in it that differs from Job to Job.
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


def _fields_of(obj: Obj) -> FieldSet | None:
    """The fields of a new object's spec in its managedFields; None unless these have one entry."""
    entries: list[Obj] = obj["metadata"].get("managedFields") or []
    fields: FieldSet | None = entries[0]["fieldsV1"].get("f:spec") if len(entries) == 1 else None
    return fields


def _asked(api: Api, call: Call, kind: spec_differences.Kind) -> _Asked | None:
    """The object to be created; None for an object that has to go the long way."""
    storage, value = call.resource.storage, _value_of(call)
    if type(value) is not dict or value.keys() != _PARTS:
        return None
    meta, spec = value["metadata"], value["spec"]
    if type(meta) is not dict or type(spec) is not dict or "managedFields" in meta:
        return None
    annotations = meta.get("annotations") or {}
    if type(annotations) is not dict or kind.looks_beyond(spec):
        return None
    lookup = admission.Lookup(api)
    if not kind.is_free(lookup.get, lookup.list, call.namespace):
        return None
    spec, texts = spec_differences.without_texts(storage, spec)
    hostname = spec.get("hostname") if storage == spec_differences.PODS else None
    if hostname is not None:
        if type(hostname) is not str:
            return None
        spec = {**spec, "hostname": ""}
    shared = {key: text for key, text in annotations.items() if key not in spec_differences.OWN_ANNOTATIONS}
    text = encode((spec, shared))
    if len(text) > _MAX_SPEC_BYTES:
        return None
    return _Asked(meta, (storage, text, tuple(map(tuple, texts))), texts, hostname, kind)


def _created(api: Api, call: Call, known: Known, asked: _Asked, wanted: WriteOptions) -> Answer | None:
    """Creates an object of a known spec, in the order of `create.create_object`."""
    resource, storage = call.resource, call.resource.storage
    meta = _metadata_of(asked.meta, call.namespace)
    if meta is None or not admission.is_open(api, call.namespace):
        return None
    spec = spec_differences.with_texts(storage, known.spec, asked.texts)
    obj: Obj = {
        "metadata": meta,
        "spec": spec if asked.hostname is None else {**spec, "hostname": asked.hostname},
    }
    if known.status is not None:
        obj["status"] = dict(known.status)
    if storage == spec_differences.JOBS:
        spec_differences.inherit_labels(obj, asked.meta)
    meta["namespace"] = call.namespace
    generated = "name" not in meta
    # The rules that run again have the same result for every suffix of a generated name.
    any_name = meta["generateName"] + create.ANY_SUFFIX if generated else meta["name"]
    lookup = admission.Lookup(api)
    if not asked.kind.passes({**obj, "metadata": {**meta, "name": any_name}}, lookup.get, lookup.list):
        return None
    if not generated and api.store.latest(Key(storage, call.namespace, meta["name"])) is not None:
        return None
    now = api.now()
    if api.owns_fields:
        owned = known.owned(meta)
        own = entries.made(wanted.manager, "Update", resource.group_version, owned, now, "")
        meta["managedFields"] = [own]
    if generated:
        meta["name"] = create.free_name(api, call, meta["generateName"])
    key = Key(storage, call.namespace, meta["name"])
    if generated and api.store.latest(key) is not None:
        return None  # chance gave no free name
    meta["uid"] = api.new_uid()
    meta["creationTimestamp"] = now
    meta["generation"] = 1
    if storage == spec_differences.JOBS:
        spec_differences.select_by_own_uid(obj, asked.meta)
    meta["resourceVersion"] = ""
    obj["metadata"] = metadata_order.ordered(meta)
    charged = admission.charge(api, call, obj)
    api.store.check_room()
    staged = charged.stage(api)
    staged.append(api.stage_new(key, obj, joined=bool(staged)))
    return Answer(resource, entry=staged[-1].entry, code=201, staged=staged)


def _metadata_of(sent: Obj, namespace: str) -> Obj | None:
    """The metadata of the new object in this namespace; None if it is in any way unusual."""
    meta = compiled.from_value(sent, _METADATA)
    if meta is None or not meta.keys() <= _USUAL_METADATA or meta.get("namespace", namespace) != namespace:
        return None
    prefix = meta.get("generateName", "")
    if ("name" in meta) == bool(prefix) or len(prefix) > create.MAX_PREFIX_CHARACTERS:
        return None
    if names.dns1123_label(meta.get("name") or prefix + "x") or not metadata.is_plain(meta):
        return None
    owners = meta.get("ownerReferences")
    if owners and (len(owners) > 1 or not _is_uid(owners[0].get("uid", ""))):
        return None
    return meta


def _is_uid(text: str) -> bool:
    """Whether the text needs no escaping in JSON."""
    return text.isascii() and text.replace("-", "").isalnum()


def _value_of(call: Call) -> Any:
    """The object to be created, as JSON without its type: from a caller in this process, or from a body
    that can be read in one way only."""
    if call.value is not None:
        return call.value if call.resource.message else _untyped(call.value, call.resource)
    value: Obj | None
    try:
        if call.content_type == PROTOBUF:
            document = codec.read_protobuf(call.body)
            if document.interpret() != (call.resource.group_version, call.resource.kind):
                return None
            value = document.decode(call.resource.message).obj
        elif call.content_type in _JSON_TYPES:
            plain = codec.plain_json(call.body)
            if plain.problems or type(plain.value) is not dict:
                return None
            value = _untyped(plain.value, call.resource)
        else:
            return None
    except codec.DecodeError:
        return None
    if value is not None and value.get("status") == {}:
        del value["status"]  # as clients in Go send it
    return value


def _untyped(value: Obj, resource: Resource) -> Obj | None:
    """The value without apiVersion and kind; None if they differ. Custom resources must name theirs."""
    named = value.get("apiVersion", resource.group_version), value.get("kind", resource.kind)
    if named != (resource.group_version, resource.kind) or (not resource.message and "kind" not in value):
        return None
    return {key: inner for key, inner in value.items() if key not in ("apiVersion", "kind")}
