"""Decodes only the fields of objects that their readers need, and skips the others in the JSON.

Parts that many objects have in common are one object in memory (shared_parts.py). A trimmed object must not
be written back as a whole unless only `managedFields` is missing, which a server then keeps; controllers
patch and delete pods, and have no right to update them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Generic, TypedDict, TypeVar

import msgspec

from longshore.api import schema
from longshore.api.types import Obj
from longshore.client.http.shared_parts import SharedParts

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
