"""Objects without what their reader does not need. The rest is skipped in the JSON: nobody decodes it.

Parts that many objects have in common are one object in memory (shared_parts.py).
Nobody may write a trimmed object back as a whole unless only `managedFields` are missing, which a server
then leaves as they are; controllers patch and delete pods, and have no right to do more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Generic, TypedDict, TypeVar

import msgspec

from longshore.api import schema
from longshore.api.types import Obj
from longshore.client.http.shared_parts import SharedParts

_NO_OBJECT: Final = frozenset(("BOOKMARK", "ERROR"))
"""Events that tell of no object."""

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
        """The event in a line of a watch."""
        try:
            found: Line[Obj] = self._decoder("line")(line)
        except msgspec.ValidationError:
            found = whole_line(line)  # an error, whose `status` is a word
        if self._tidy is not None and found.type not in _NO_OBJECT:
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
"""By the resource's name, how it is read where no rule reads the rest. Schedulers read more of pods."""
