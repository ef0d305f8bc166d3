"""Pods of one Job are alike but for name, index and host name: what follows from the rest is found once.

Reading, defaults, admission, validation and the set of owned fields of a pod's spec cost more than all else
of a create, and for a thousand pods of one template they give the same a thousand times. So what the first
one came to is kept under the JSON of what it was made from, and the others share it; it is frozen like
everything stored. Anything that lets name, labels, the clock or other objects have a say is not kept, nor is
anything the first one was warned of: such pods go the long way, each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from longshore.api import names
from longshore.api.codec import compiled
from longshore.api.shape import FieldSet
from longshore.api.types import Obj, encode

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.call import Call

_MOST: Final = 64
_METADATA: Final = "meta/v1.ObjectMeta"
_OWN: Final = frozenset((
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-index-failure-count",
    "batch.kubernetes.io/job-index-ignored-failure-count",
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
"""Parts of a spec whose rules look at labels, the clock or other objects."""


Sort: TypeAlias = tuple[tuple[str, ...], ...]


def sort_of(meta: Obj) -> Sort:
    """All that the set of owned fields of a pod's metadata depends on."""
    owners = meta.get("ownerReferences") or ()
    return (
        tuple(meta),
        tuple(meta.get("labels") or ()),
        tuple(meta.get("annotations") or ()),
        tuple(meta.get("finalizers") or ()),
        *((owner["uid"], *owner) for owner in owners),
    )


class Known(NamedTuple):
    """What the first pod of its sort came to."""

    spec: Obj
    fields: FieldSet
    """Of the spec as it was sent and defaulted: its part in managedFields."""
    qos: str
    owned: dict[Sort, FieldSet]
    """Of whole pods, by what their metadata has."""

    def status(self) -> Obj:
        """What a new one begins with."""
        return {"phase": "Pending", "qosClass": self.qos}

    def own(self, meta: Obj, fields: FieldSet) -> None:
        """Notes the fields of a whole pod with this metadata."""
        if len(self.owned) < _MOST:
            self.owned[sort_of(meta)] = fields


class Alike:
    """The last few sorts of pods."""

    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}

    def find(self, mark: bytes) -> Known | None:
        return self._known.get(mark)

    def learn(self, mark: bytes, pod: Obj) -> None:
        """`pod` was created, without a warning."""
        entries: list[Obj] = pod["metadata"].get("managedFields") or []
        fields = entries[0]["fieldsV1"].get("f:spec") if len(entries) == 1 else None
        if fields is None:
            return
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[mark] = Known(pod["spec"], fields, pod["status"]["qosClass"], {})


def mark_of(api: Api, call: Call) -> bytes | None:
    """What pods that are alike have in common; None for a pod that is judged by itself."""
    value = call.value
    if value is None or call.resource.storage != "pods" or value.keys() != {"metadata", "spec"}:
        return None
    meta, spec = value["metadata"], value["spec"]
    if type(meta) is not dict or type(spec) is not dict or "managedFields" in meta:
        return None
    if not spec.keys().isdisjoint(_DEPEND) or not _admits_all(api, call.namespace):
        return None
    notes = meta.get("annotations") or {}
    volumes, host = spec.get("volumes") or (), spec.get("hostname")
    if type(notes) is not dict or any("ephemeral" in volume for volume in volumes):
        return None
    others = {key: notes[key] for key in notes if key not in _OWN}
    if any(key.startswith(_OLD_HOMES) for key in others):
        return None
    if host is None:
        return encode((spec, others))
    if type(host) is not str or names.dns1123_label(host):
        return None
    return encode(({**spec, "hostname": ""}, others))


def pod_like(value: Obj, known: Known) -> Obj | None:
    """The pod that `value` asks for, its metadata as sent; None if that cannot be read."""
    meta = compiled.from_value(value["metadata"], _METADATA)
    if meta is None:
        return None
    spec: Any = known.spec
    if "hostname" in value["spec"]:
        spec = {**spec, "hostname": value["spec"]["hostname"]}
    return {"metadata": meta, "spec": spec, "status": {}}


def _admits_all(api: Api, namespace: str) -> bool:
    """Whether no object in the cluster has a say in what a pod gets."""
    store = api.store
    if not store.is_empty("limitranges") and store.latest_list("limitranges", namespace):
        return False
    if store.is_empty(_CLASSES):
        return True
    return not any(entry.obj.get("globalDefault") for entry in store.latest_list(_CLASSES))
