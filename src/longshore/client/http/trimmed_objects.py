"""Objects without what their reader does not need. The rest is skipped in the JSON: nobody decodes it.

Parts that many objects have in common (the spec of all pods of a Job on one node) are one object in memory.
Nobody may write a trimmed object back as a whole unless only `managedFields` are missing, which a server
then leaves as they are; controllers patch and delete pods, and have no right to do more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Generic, TypedDict, TypeVar

import msgspec

from longshore.api import schema, types
from longshore.api.types import Obj

_MAX_SHARED_PARTS: Final = 4096
"""Then all are forgotten. Who holds one goes on holding it; the next equal one begins anew."""

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


class Parts:
    """Parts of objects, each distinct one once."""

    def __init__(self) -> None:
        self._parts: dict[bytes, Any] = {}

    def one(self, part: Any) -> Any:
        """The first part that was equal to this one."""
        parts = self._parts
        if len(parts) >= _MAX_SHARED_PARTS:
            parts.clear()
        return parts.setdefault(types.encode(part), part)


class Trimmed:
    """Reads the objects of one resource.

    `without` has the fields to skip, by message: "core/v1.Container" and the like. A message that is not in
    it is read as a whole. `shared` has fields whose values, or whose elements, many objects have in common,
    by the part they are in; the object itself is the part "".
    """

    def __init__(
        self,
        message: str,
        without: Mapping[str, Collection[str]],
        shared: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self._message, self._without, self._shared = message, without, shared or {}
        self._parts = Parts()
        self._decoders: dict[str, Callable[[bytes], Any]] = {}

    def one(self, body: bytes) -> Obj:
        """The object in an answer."""
        return self._tidy(self._decoder("one")(body))

    def line(self, line: bytes) -> Line[Obj]:
        """The event in a line of a watch."""
        try:
            found: Line[Obj] = self._decoder("line")(line)
        except msgspec.ValidationError:
            found = whole_line(line)  # an error, whose `status` is a word
        if found.type != "ERROR":
            self._tidy(found.object)
        return found

    def page(self, body: bytes) -> Listed[Obj]:
        """The objects in the answer to a list."""
        found: Listed[Obj] = self._decoder("page")(body)
        for item in found.items or ():
            self._tidy(item)
        return found

    def _decoder(self, form: str) -> Callable[[bytes], Any]:
        """Made with the first object: other clients never read the tables of kinds."""
        made = self._decoders.get(form)
        if made is None:
            shape: Any = self._shape(self._message, {"apiVersion": str, "kind": str})
            wanted = {"one": shape, "line": Line[shape], "page": Listed[shape]}[form]
            made = self._decoders[form] = msgspec.json.Decoder(wanted).decode
        return made

    def _shape(self, message: str, fields: Mapping[str, Any] | None = None) -> Any:
        """A type of dictionary that has the fields of `message` but for those that are skipped."""
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

    def _tidy(self, obj: Obj) -> Obj:
        one = self._parts.one
        for where, names in self._shared.items():
            part: Obj = obj.get(where) or {} if where else obj
            for name in names:
                value = part.get(name)
                if value:
                    part[name] = [*map(one, value)] if isinstance(value, list) else one(value)
        return obj


whole_line: Final = msgspec.json.Decoder(Line[Obj]).decode
"""The event in a line of a watch, with all there is."""

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
        "qosClass", "resourceClaimStatuses", "resources",
    ),
    "core/v1.PodCondition": ("lastProbeTime", "observedGeneration"),
    "core/v1.ContainerStatus": (
        "allocatedResources", "allocatedResourcesStatus", "containerID", "image", "imageID", "lastState",
        "resources", "started", "user", "volumeMounts",
    ),
    "core/v1.ContainerState": (),
    "core/v1.ContainerStateTerminated": ("containerID",),
}  # fmt: skip

FOR_CONTROLLERS: Final = {
    "pods": Trimmed(
        "core/v1.Pod",
        _OF_PODS,
        {"": ("spec",), "metadata": ("labels", "ownerReferences"), "status": ("conditions",)},
    ),
    "jobs.batch": Trimmed("batch/v1.Job", _METADATA),
}
"""By the resource's name, how it is read where no rule reads the rest. Schedulers read more of pods."""
