"""An object on its way through a build, with the names it had before: others refer to it by those."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from longshore.api.types import Obj

_CLUSTER_WIDE: Final = frozenset(
    {"APIService", "CSIDriver", "CSINode", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}
    | {"FlowSchema", "IngressClass", "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume"}
    | {"PriorityClass", "PriorityLevelConfiguration", "RuntimeClass", "StorageClass", "VolumeAttachment"}
    | {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"}
)
"""Kinds of Kubernetes without a namespace."""


class Name(NamedTuple):
    namespace: str
    name: str


@dataclass
class Piece:
    obj: Obj
    names: list[Name] = field(default_factory=list)
    """Earlier names, the first one first."""
    hashed: bool = False
    """A generated map, whose name ends with a hash of its content."""

    @property
    def kind(self) -> str:
        return str(self.obj["kind"])

    @property
    def group(self) -> str:
        return str(self.obj["apiVersion"].rpartition("/")[0])

    @property
    def version(self) -> str:
        return str(self.obj["apiVersion"].rpartition("/")[2])

    @property
    def name(self) -> Name:
        meta = self.obj["metadata"]
        return Name(meta.get("namespace") or "", meta["name"])

    @property
    def every_name(self) -> Iterable[Name]:
        """All names, the newest first."""
        return [self.name, *reversed(self.names)]

    @property
    def is_namespaced(self) -> bool:
        from longshore.api.kinds import table

        known = table.by_kind(self.obj["apiVersion"], self.kind)
        return known.namespaced if known is not None else self.kind not in _CLUSTER_WIDE

    def rename(self, *, name: str | None = None, namespace: str | None = None) -> None:
        before, meta = self.name, self.obj["metadata"]
        if name is not None:
            meta["name"] = name
        if namespace is not None:
            meta["namespace"] = namespace
        if self.name != before:
            self.names.append(before)

    def text(self) -> str:
        """The object in messages: `Job batch/v1 "work"`."""
        return f'{self.kind} {self.obj["apiVersion"]} "{self.name.name}"'
