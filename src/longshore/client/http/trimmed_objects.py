"""Decodes only the fields of objects that their readers need, and skips the others in the JSON.

Parts that many objects have in common are one object in memory (`SharedParts`). A trimmed object must not
be written back as a whole unless only `managedFields` is missing, which a server then keeps; controllers
patch and delete pods, and have no right to update them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Generic, TypedDict, TypeVar

import msgspec

from longshore.api import schema, types
from longshore.api.facts import pod_state
from longshore.api.types import Obj

_MAX_PARTS: Final = 4096
"""At this number all are forgotten. Pods keep the parts they have; later pods share new ones."""
_TIMELESS: Final = frozenset(("PodReadyToStartContainers", "Initialized", "ContainersReady", "PodScheduled"))
"""Conditions whose times no rule reads."""
_PARTS: Final = ("labels", "ownerReferences", "finalizers")
_WORDS: Final = ("namespace", "generateName", "creationTimestamp")


class SharedParts:
    """Holds parts that pods have in common once in memory: a Job's pods differ only in names, UIDs and
    versions.

    Running pods that became ready in the same second share one status: the conditions in `_TIMELESS` lose
    their times, which no rule reads. The status of a pod that has ended is not shared.
    """

    def __init__(self) -> None:
        self._parts: dict[bytes, Any] = {}

    def share(self, pod: Obj) -> None:
        """Replaces parts of the pod by equal parts of earlier pods."""
        meta = pod["metadata"]
        for name in _WORDS:
            word = meta.get(name)
            if word:
                meta[name] = sys.intern(word)
        for name in _PARTS:
            part = meta.get(name)
            if part:
                meta[name] = self._one(part)
        spec, status = pod.get("spec"), pod.get("status")
        if spec:
            pod["spec"] = self._one(spec)
        if status:
            for condition in status.get("conditions") or ():
                if condition.get("type") in _TIMELESS:
                    condition.pop("lastTransitionTime", None)
            if pod_state.phase_of(pod) not in pod_state.ENDED:
                pod["status"] = self._status(status)

    def _one(self, part: Any) -> Any:
        """The known part that equals this one; if there is none, this one, known from now on."""
        return self._room().setdefault(types.encode(part), part)

    def _status(self, status: Obj) -> Obj:
        """The first status equal to this one. A new status shares its conditions and container statuses."""
        key = types.encode(status)
        known: Obj | None = self._room().get(key)
        if known is not None:
            return known
        for name in ("conditions", "containerStatuses"):
            if status.get(name):
                status[name] = [*map(self._one, status[name])]
        self._parts[key] = status
        return status

    def _room(self) -> dict[bytes, Any]:
        if len(self._parts) >= _MAX_PARTS:
            self._parts.clear()
        return self._parts


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


class Trimmed:
    """Reads the objects of one resource.

    `without` has the fields to skip, by message: "core/v1.Container" and the like. A message that is not in
    it is read as a whole. `tidy` is given each object, and changes it in place.
    """

    def __init__(
        self,
        message: str,
        without: Mapping[str, Collection[str]],
        tidy: Callable[[Obj], None] | None = None,
    ) -> None:
        self._message, self._without, self._tidy = message, without, tidy
        self._decoders: dict[str, Callable[[bytes], Any]] = {}

    def one(self, body: bytes) -> Obj:
        """The object in an answer."""
        found: Obj = self._decoder("one")(body)
        if self._tidy is not None:
            self._tidy(found)
        return found

    def line(self, line: bytes) -> Line[Obj]:
        """The event in a line of a watch. An ERROR event carries a Status, which is read as a whole."""
        try:
            found: Line[Obj] = self._decoder("line")(line)
        except msgspec.ValidationError:
            return whole_line(line)
        if found.type == "ERROR":
            return whole_line(line)
        if self._tidy is not None and found.type != "BOOKMARK" and found.object.get("metadata"):
            self._tidy(found.object)
        return found

    def page(self, body: bytes) -> Listed[Obj]:
        """The objects in the answer to a list."""
        found: Listed[Obj] = self._decoder("page")(body)
        if self._tidy is not None:
            for item in found.items or ():
                self._tidy(item)
        return found

    def _decoder(self, form: str) -> Callable[[bytes], Any]:
        """The decoder of a form, made on first use: other clients do not load the tables of kinds."""
        made = self._decoders.get(form)
        if made is None:
            shape: Any = self._shape(self._message, {"apiVersion": str, "kind": str})
            wanted = {"one": shape, "line": Line[shape], "page": Listed[shape]}[form]
            made = self._decoders[form] = msgspec.json.Decoder(wanted).decode
        return made

    def _shape(self, message: str, fields: Mapping[str, Any] | None = None) -> Any:
        """A TypedDict with the fields of `message`, except the skipped ones."""
        kept = dict(fields or {})
        without = self._without.get(message, ())
        for name, field in schema.message(message).fields.items():
            if name not in without:
                kept[name] = self._type(field.type)
        make: Any = TypedDict  # of a table, which no checker can know
        return make(message, kept, total=False)

    def _type(self, found: schema.Type) -> Any:
        if found.name in self._without:
            return self._shape(found.name) | None
        if found.kind == "list" and found.items.name in self._without:
            item: Any = self._shape(found.items.name)
            return list[item] | None
        return Any


whole_line: Final = msgspec.json.Decoder(Line[Obj]).decode
"""Decodes a line of a watch without skipping any field."""

_METADATA: Final = {"meta/v1.ObjectMeta": ("managedFields", "selfLink")}
_OF_PODS: Final = _METADATA | {
    "core/v1.PodSpec": (
        "automountServiceAccountToken", "dnsConfig", "dnsPolicy", "enableServiceLinks", "ephemeralContainers",
        "hostAliases", "imagePullSecrets", "securityContext", "tolerations", "volumes",
    ),
    "core/v1.Container": (
        "args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe",
        "ports", "readinessProbe", "securityContext", "startupProbe", "terminationMessagePath",
        "terminationMessagePolicy", "volumeDevices", "volumeMounts",
    ),
    "core/v1.PodStatus": (
        "allocatedResources", "ephemeralContainerStatuses", "hostIP", "hostIPs", "podIP", "podIPs",
        "qosClass", "resourceClaimStatuses", "resources", "startTime",
    ),
    "core/v1.PodCondition": ("lastProbeTime", "observedGeneration"),
    "core/v1.ContainerStatus": (
        "allocatedResources", "allocatedResourcesStatus", "containerID", "image", "imageID", "lastState",
        "resources", "started", "user", "volumeMounts",
    ),
    "core/v1.ContainerState": (),
    "core/v1.ContainerStateRunning": ("startedAt",),
    "core/v1.ContainerStateTerminated": ("containerID", "startedAt"),
}  # fmt: skip

FOR_CONTROLLERS: Final = {
    "pods": Trimmed("core/v1.Pod", _OF_PODS, SharedParts().share),
    "jobs.batch": Trimmed("batch/v1.Job", _METADATA),
}
"""By resource: how processes that run only controllers read objects. Schedulers read more fields of pods."""
