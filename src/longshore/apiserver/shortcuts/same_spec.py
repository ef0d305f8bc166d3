"""Pods of one Job are alike but for name, index and host name, and so are Jobs of one script but for the
words of their commands: what follows from the rest is found once.

Reading, defaults, admission, validation and the set of owned fields of a spec cost more than all else of a
create, and for a thousand pods of one template they give the same a thousand times. So what the first one
came to is kept under the JSON of what it was made from, and the others share it; it is frozen like
everything stored. Anything that lets name, labels, the clock or other objects have a say is not kept, nor is
anything the first one was warned of: such objects go the long way, each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from longshore.api import codec, names
from longshore.api.apply import managed
from longshore.api.codec import compiled
from longshore.api.kinds import job
from longshore.api.resources import Resource
from longshore.api.shape import FieldSet, Shape
from longshore.api.types import Obj, encode
from longshore.api.validation import job as checks
from longshore.api.validation import metadata
from longshore.apiserver.shortcuts import container_texts
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.call import Call

PODS: Final = "pods"
_VOLCANO_JOBS: Final = "batch.volcano.sh/jobs"
_VOLCANO_GROUPS: Final = "scheduling.volcano.sh/podgroups"
_QUEUE: Final = "scheduling.volcano.sh/queue-name"
CUSTOM: Final = frozenset((_VOLCANO_JOBS, _VOLCANO_GROUPS))
STORAGES: Final = frozenset((PODS, "batch/jobs")) | CUSTOM
_MOST: Final = 64
_LONGEST: Final = 1 << 16
"""Bytes of a spec that is worth remembering."""
_JSON: Final = (None, "", "application/json")
_METADATA: Final = "meta/v1.ObjectMeta"
_USUAL: Final = frozenset((
    "name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers",
))  # fmt: skip
LONGEST_PREFIX: Final = 58
"""Characters of a generateName that go into the name: 63 of a label, less the random suffix."""
_PARTS: Final = {"metadata", "spec"}
_OWN: Final = frozenset((
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-index-failure-count",
    "batch.kubernetes.io/job-index-ignored-failure-count",
    "scheduling.k8s.io/group-name", "volcano.sh/job-name", "volcano.sh/job-retry-count",
    "volcano.sh/job-version", "volcano.sh/queue-name", "volcano.sh/task-index", "volcano.sh/task-spec",
    "volcano.sh/template-uid",
))  # fmt: skip
"""Annotations that differ from pod to pod, and that no rule about pods looks at."""
_OLD_HOMES: Final = "pod."
"""How the annotations begin that defaults take away."""
_CLASSES: Final = "scheduling.k8s.io/priorityclasses"
_DEPEND: Final = frozenset((
    "affinity", "ephemeralContainers", "hostnameOverride", "nodeName", "overhead", "preemptionPolicy",
    "priority", "priorityClassName", "runtimeClassName", "schedulingGates", "setHostnameAsFQDN",
    "topologySpreadConstraints",
))  # fmt: skip
"""Parts of a pod's spec whose rules look at labels, the clock or other objects."""
_CHOSEN: Final = frozenset(("selector", "manualSelector"))
"""Parts of a Job's spec that decide what is generated."""

Mark: TypeAlias = tuple[str, bytes, tuple[tuple[str, ...], ...]]
"""What objects that are alike have in common: where they are stored, what they were made from, and in which
fields of containers words were left out of that (a body may say anything in their place)."""
_Sort: TypeAlias = tuple[tuple[str, ...], ...]


class Known:
    """What the first one of its sort came to."""

    __slots__ = ("_owned", "_shape", "fields", "labels", "spec", "status")

    def __init__(self, obj: Obj, fields: FieldSet, shape: Shape) -> None:
        self.spec: Obj = obj["spec"]
        self.status: Obj | None = obj.get("status")
        """Every new one begins with it. Custom ones begin with none."""
        self.fields = fields
        """Of the spec as it was sent and defaulted: its part in managedFields."""
        self.labels: Obj = _user_labels(self.spec)
        """Those of a Job's template that were not generated: a Job without labels gets them too."""
        self._owned: dict[_Sort, FieldSet] = {}
        """Of whole objects, by what their metadata has."""
        self._shape = shape

    def owned(self, meta: Obj) -> FieldSet:
        """The fields of an object with this metadata, which has at most one owner, all belonging to its
        creator."""
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
            if len(self._owned) < _MOST:
                self._owned[sort] = fields
        if not owners:
            return fields
        # The one name in there that depends on a value which every Job has for itself.
        parts = fields["f:metadata"]
        own = {**parts["f:ownerReferences"]}
        own[f'k:{{"uid":"{owners[0]["uid"]}"}}'] = own.pop(f'k:{{"uid":"{_ANY}"}}')
        return {**fields, "f:metadata": {**parts, "f:ownerReferences": own}}

    def _fields_of(self, meta: Obj) -> FieldSet:
        sample = {"metadata": dict(meta), "spec": self.spec}
        if self.status is not None:
            sample["status"] = {}
        if "ownerReferences" in meta:
            sample["metadata"]["ownerReferences"] = [{**meta["ownerReferences"][0], "uid": _ANY}]
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


_ANY: Final = "any"


class Alike:
    """The last few sorts of objects."""

    def __init__(self) -> None:
        self._known: dict[Mark, Known] = {}

    def find(self, mark: Mark) -> Known | None:
        return self._known.get(mark)

    def learn(self, mark: Mark, obj: Obj, shape: Shape) -> None:
        """`obj` was created, without a warning."""
        entries: list[Obj] = obj["metadata"].get("managedFields") or []
        fields = entries[0]["fieldsV1"].get("f:spec") if len(entries) == 1 else None
        if fields is None:
            return
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[mark] = Known(obj, fields, shape)


class Asked(NamedTuple):
    """An object that may be like others."""

    meta: Obj
    """As it was sent."""
    mark: Mark
    told: container_texts.Told
    hostname: str | None


def asked_of(api: Api, call: Call) -> Asked | None:
    """What is to be created; None for what is judged by itself."""
    value, storage = _value_of(call), call.resource.storage
    if type(value) is not dict or value.keys() != _PARTS:
        return None
    meta, spec = value["metadata"], value["spec"]
    if type(meta) is not dict or type(spec) is not dict or "managedFields" in meta:
        return None
    told: container_texts.Told = []
    if storage == PODS:
        spec, told = container_texts.apart(spec)
        common = _common_of_pods(api, call.namespace, meta, spec)
    elif storage in CUSTOM:
        common = _common_of_customs(api, storage, call.namespace, meta, spec)
    else:
        template = spec.get("template")
        if type(template) is dict and type(template.get("spec")) is dict:
            pod, told = container_texts.apart(template["spec"])
            spec = {**spec, "template": {**template, "spec": pod}}
        common = _common_of_jobs(spec)
    if common is None:
        return None
    text = encode(common)
    if len(text) > _LONGEST:
        return None
    return Asked(meta, (storage, text, tuple(map(tuple, told))), told, spec.get("hostname"))


def _common_of_pods(api: Api, namespace: str, meta: Obj, spec: Obj) -> Any | None:
    if not spec.keys().isdisjoint(_DEPEND) or not _admits_all(api, namespace):
        return None
    notes, volumes, host = meta.get("annotations") or {}, spec.get("volumes"), spec.get("hostname")
    if type(notes) is not dict or (volumes and any("ephemeral" in volume for volume in volumes)):
        return None
    others = {key: notes[key] for key in notes if key not in _OWN} if notes else notes
    if others and any(key.startswith(_OLD_HOMES) for key in others):
        return None
    if host is None:
        return spec, others
    if type(host) is not str or names.dns1123_label(host):
        return None
    return {**spec, "hostname": ""}, others


def _common_of_jobs(spec: Obj) -> Any | None:
    template = spec.get("template")
    if not spec.keys().isdisjoint(_CHOSEN) or type(template) is not dict:
        return None
    labels = (template.get("metadata") or {}).get("labels") or {}
    return spec if job.GENERATED_LABELS.isdisjoint(labels) else None


def _common_of_customs(api: Api, storage: str, namespace: str, meta: Obj, spec: Obj) -> Any | None:
    """Finalizers of custom kinds have rules of their own; a namespace may name the queue of its PodGroups."""
    if "finalizers" in meta:
        return None
    if storage == _VOLCANO_GROUPS:
        within = api.store.latest(Key("namespaces", "", namespace))
        if within is None or _QUEUE in (within.obj["metadata"].get("annotations") or ()):
            return None
    return spec


def _admits_all(api: Api, namespace: str) -> bool:
    """Whether no object in the cluster has a say in what a pod gets."""
    store = api.store
    if not store.is_empty("limitranges") and store.latest_list("limitranges", namespace):
        return False
    if store.is_empty(_CLASSES):
        return True
    return not any(entry.obj.get("globalDefault") for entry in store.latest_list(_CLASSES))


def metadata_of(known: Known, asked: Asked, namespace: str) -> Obj | None:
    """The metadata that is asked for in this namespace; None for any that is not quite usual."""
    meta = compiled.from_value(asked.meta, _METADATA)
    if meta is None or not meta.keys() <= _USUAL or meta.get("namespace", namespace) != namespace:
        return None
    prefix = meta.get("generateName", "")
    if ("name" in meta) == bool(prefix) or len(prefix) > LONGEST_PREFIX:
        return None
    if names.dns1123_label(meta.get("name") or prefix + "x") or not metadata.is_plain(meta):
        return None
    owners = meta.get("ownerReferences")
    if owners and (len(owners) > 1 or not _is_uid(owners[0].get("uid", ""))):
        return None
    if known.labels and "labels" not in meta:
        meta["labels"] = known.labels
    meta["namespace"] = namespace
    return meta


def _is_uid(text: str) -> bool:
    """Whether JSON writes it as it is."""
    return text.isascii() and text.replace("-", "").isalnum()


def like(known: Known, asked: Asked, meta: Obj) -> Obj | None:
    """The object that is asked for, with this metadata, name and uid included; None if a rule about its name
    speaks against it."""
    storage = asked.mark[0]
    if storage == PODS:
        return _pod_like(known, asked, meta)
    return {"metadata": meta, "spec": known.spec} if storage in CUSTOM else _job_like(known, asked, meta)


def _pod_like(known: Known, asked: Asked, meta: Obj) -> Obj:
    spec = container_texts.put(known.spec, asked.told) if asked.told else known.spec
    if asked.hostname is not None:
        spec = {**spec, "hostname": asked.hostname}
    return {"metadata": meta, "spec": spec, "status": dict(known.status or {})}


def _job_like(known: Known, asked: Asked, meta: Obj) -> Obj | None:
    """None if its pods could not be named after it."""
    spec, generated = known.spec, job.generated_labels(meta)
    template = spec["template"]
    labels = {**template["metadata"]["labels"], **generated}
    if meta.get("labels") is known.labels:
        meta["labels"] = dict(labels)
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    if asked.told:
        template["spec"] = container_texts.put(template["spec"], asked.told)
    selector = {"matchLabels": {job.SELECTED: meta["uid"]}}
    spec = {**spec, "template": template, "selector": selector}
    obj = {"metadata": meta, "spec": spec, "status": dict(known.status or {})}
    return None if checks.validate_last_hostname(obj) else obj


def _value_of(call: Call) -> Any:
    """What is to be created, as plain JSON without its type: from a caller in this process, or from a body
    that can be read in one way only."""
    if call.value is not None:
        return call.value if call.resource.message else _untyped(call.value, call.resource)
    if call.content_type not in _JSON:
        return None
    try:
        plain = codec.plain_json(call.body)
    except codec.DecodeError:
        return None
    if plain.problems or type(plain.value) is not dict:
        return None
    value = _untyped(plain.value, call.resource)
    if value is not None and value.get("status") == {}:
        del value["status"]  # as clients in Go send it
    return value


def _untyped(value: Obj, resource: Resource) -> Obj | None:
    """Without apiVersion and kind; None if they are not the resource's. Custom kinds must name theirs."""
    named = value.get("apiVersion", resource.group_version), value.get("kind", resource.kind)
    if named != (resource.group_version, resource.kind) or (not resource.message and "kind" not in value):
        return None
    return {key: inner for key, inner in value.items() if key not in ("apiVersion", "kind")}


def _user_labels(spec: Obj) -> Obj:
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return {key: value for key, value in labels.items() if key not in job.GENERATED_LABELS}
