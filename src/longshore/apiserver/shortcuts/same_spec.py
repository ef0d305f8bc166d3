"""Objects with a spec that another had: what follows from the spec is found once.

Pods of one Job differ in name, index and host name, Jobs of one script in the texts of their commands.
Reading, defaults, admission, validation and the set of owned fields of a spec cost more than all else of a
create, and for a thousand pods of one template they come to the same a thousand times. So what the first
spec came to is kept under the JSON that it was made from, and the others share it; it is frozen like
everything stored.

What else has a say in an object is told by the rules themselves (`spec_rules`). Where a rule looks at
something that objects of one spec do not share and cannot be asked about that alone, and where the first
one was warned of anything, each object goes the long way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from longshore.api import codec, metadata_order, names
from longshore.api.apply import entries
from longshore.api.codec import compiled
from longshore.api.reads import New
from longshore.api.resources import Resource
from longshore.api.types import Obj, encode
from longshore.api.validation import metadata
from longshore.apiserver.answer import Answer
from longshore.apiserver.request.negotiate import PROTOBUF
from longshore.apiserver.rest import admission, generated_names
from longshore.apiserver.shortcuts import container_texts, spec_memory, spec_rules
from longshore.apiserver.shortcuts.spec_memory import Known, Mark, SpecMemory
from longshore.apiserver.shortcuts.spec_rules import Differences
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.call import Call
    from longshore.apiserver.request.options import WriteOptions

_MAX_SPEC_BYTES: Final = 1 << 16
_JSON_TYPES: Final = (None, "", "application/json")
_METADATA: Final = "meta/v1.ObjectMeta"
_USUAL_METADATA: Final = frozenset((
    "name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers",
))  # fmt: skip
_PARTS: Final = {"metadata", "spec"}
_PODS: Final = "pods"
_JOBS: Final = "batch/jobs"


class _Asked(NamedTuple):
    """An object that may be like others."""

    meta: Obj
    """The object as it was sent."""
    mark: Mark
    told: container_texts.Told
    hostname: str | None
    differences: Differences


class SameSpec:
    """Creates of objects whose spec has been through the whole of a create before."""

    relies_on: ClassVar[tuple[str, ...]] = (
        "every rule about a new object says what it reads besides the spec (`api/reads.py`)",
        "no rule reads the texts of containers: command, args, values of variables",
        "stored objects are never changed, so several may share a spec",
    )
    earns: ClassVar[str] = "24 % of a pod of an Indexed Job, 11 % of a one-pod Job (bench/jobs.py)"

    def __init__(self) -> None:
        self._memory = SpecMemory()
        self._differences: dict[str, Differences | None] = {}
        """By storage; of kinds that come with the program, whose rules stay."""
        self._pending: tuple[Call, _Asked] | None = None
        """The last object that went the long way, to be learned from."""

    def create(self, api: Api, call: Call, wanted: WriteOptions) -> Answer | None:
        self._pending = None
        if call.resource.strategy.rules is None or wanted.dry_run or wanted.field_validation == "Ignore":
            return None
        asked = self._asked(api, call)
        if asked is None:
            return None
        known = self._memory.find(asked.mark)
        if known is None:
            self._pending = call, asked
            return None
        return _created(api, call, known, asked, wanted)

    def learn(self, api: Api, call: Call, obj: Obj) -> None:
        """Remembers what the long way made of a call, unless it warned of something."""
        if self._pending is not None and self._pending[0] is call and not call.warnings:
            fields = spec_memory.fields_of(obj) if api.owns_fields else {}
            if fields is not None:
                self._memory.learn(self._pending[1].mark, obj, fields, api.shape(call.resource))
        self._pending = None

    def _asked(self, api: Api, call: Call) -> _Asked | None:
        """The object to be created; None for one that is judged by itself."""
        resource = call.resource
        differences = self._differences_of(resource)
        value = None if differences is None else _value_of(call)
        if differences is None or type(value) is not dict or value.keys() != _PARTS:
            return None
        meta, spec = value["metadata"], value["spec"]
        if type(meta) is not dict or type(spec) is not dict or "managedFields" in meta:
            return None
        annotations = meta.get("annotations") or {}
        if type(annotations) is not dict or differences.look_beyond(spec):
            return None
        if differences.unless:
            lookup = admission.Lookup(api)
            for unless in differences.unless:
                if not unless(lookup.get, lookup.list, call.namespace):
                    return None
        spec, told = _without_texts(resource.storage, spec)
        hostname = spec.get("hostname") if resource.storage == _PODS else None
        if hostname is not None:
            if type(hostname) is not str:
                return None
            spec = {**spec, "hostname": ""}
        text = encode((spec, differences.read_annotations(annotations)))
        if len(text) > _MAX_SPEC_BYTES:
            return None
        return _Asked(meta, (resource.storage, text, tuple(map(tuple, told))), told, hostname, differences)

    def _differences_of(self, resource: Resource) -> Differences | None:
        if resource.storage not in self._differences:
            self._differences[resource.storage] = spec_rules.of(resource)
        return self._differences[resource.storage]


def _created(api: Api, call: Call, known: Known, asked: _Asked, wanted: WriteOptions) -> Answer | None:
    """Creates an object of a known spec, in the order of `create.create_object`."""
    resource, differences = call.resource, asked.differences
    meta = _metadata_of(asked.meta, call.namespace)
    if meta is None or not admission.is_open(api, call.namespace):
        return None
    obj = _like(resource.storage, known, asked, meta)
    lookup = admission.Lookup(api)
    new = New(obj, asked.meta, lookup.get, lookup.list)
    for renew in differences.renew_defaults:
        renew(new)
    meta["namespace"] = call.namespace
    generated = "name" not in meta
    # The rules that are asked again do not care which of its suffixes a generated name gets.
    obj["metadata"] = (
        {**meta, "name": meta["generateName"] + generated_names.ANY_SUFFIX} if generated else meta
    )
    for again in differences.again:
        if not again(new):
            return None
    obj["metadata"] = meta
    if not generated and api.store.latest(Key(resource.storage, call.namespace, meta["name"])) is not None:
        return None
    now = api.now()
    if api.owns_fields:
        owned = known.owned(meta)
        own = entries.made(wanted.manager, "Update", resource.group_version, owned, now, "")
        meta["managedFields"] = [own]
    if generated:
        meta["name"] = generated_names.free_name(api, call, meta["generateName"])
    key = Key(resource.storage, call.namespace, meta["name"])
    if generated and api.store.latest(key) is not None:
        return None  # chance gave no free name
    meta["uid"] = api.new_uid()
    meta["creationTimestamp"] = now
    meta["generation"] = 1
    for renew in differences.renew:
        renew(new)
    meta["resourceVersion"] = ""
    obj["metadata"] = metadata_order.ordered(meta)
    charged = admission.charge(api, call, obj)
    api.store.check_room()
    staged = charged.stage(api)
    staged.append(api.shortcuts.placed_pods.stage(api, key, obj, joined=bool(staged)))
    return Answer(resource, entry=staged[-1].entry, code=201, staged=staged)


def _metadata_of(sent: Obj, namespace: str) -> Obj | None:
    """The metadata that is asked for in this namespace; None for any that is not quite usual."""
    meta = compiled.from_value(sent, _METADATA)
    if meta is None or not meta.keys() <= _USUAL_METADATA or meta.get("namespace", namespace) != namespace:
        return None
    prefix = meta.get("generateName", "")
    if ("name" in meta) == bool(prefix) or len(prefix) > generated_names.MAX_PREFIX_CHARACTERS:
        return None
    if names.dns1123_label(meta.get("name") or prefix + "x") or not metadata.is_plain(meta):
        return None
    owners = meta.get("ownerReferences")
    if owners and (len(owners) > 1 or not _is_uid(owners[0].get("uid", ""))):
        return None
    return meta


def _is_uid(text: str) -> bool:
    """Whether JSON writes it as it is."""
    return text.isascii() and text.replace("-", "").isalnum()


def _without_texts(storage: str, spec: Obj) -> tuple[Obj, container_texts.Told]:
    """A spec without the texts of its containers, for comparing only, and the texts."""
    if storage == _PODS:
        return container_texts.apart(spec)
    template = spec.get("template") if storage == _JOBS else None
    if type(template) is not dict or type(template.get("spec")) is not dict:
        return spec, []
    pod, told = container_texts.apart(template["spec"])
    return {**spec, "template": {**template, "spec": pod}}, told


def _like(storage: str, known: Known, asked: _Asked, meta: Obj) -> Obj:
    """The object that is asked for, with this metadata."""
    spec = known.spec
    if asked.told:
        if storage == _PODS:
            spec = container_texts.put(spec, asked.told)
        else:
            template = spec["template"]
            pod = container_texts.put(template["spec"], asked.told)
            spec = {**spec, "template": {**template, "spec": pod}}
    if asked.hostname is not None:
        spec = {**spec, "hostname": asked.hostname}
    obj = {"metadata": meta, "spec": spec}
    if known.status is not None:
        obj["status"] = dict(known.status)
    return obj


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
    """Without apiVersion and kind; None if they are not the resource's. Custom kinds must name theirs."""
    named = value.get("apiVersion", resource.group_version), value.get("kind", resource.kind)
    if named != (resource.group_version, resource.kind) or (not resource.message and "kind" not in value):
        return None
    return {key: inner for key, inner in value.items() if key not in ("apiVersion", "kind")}
