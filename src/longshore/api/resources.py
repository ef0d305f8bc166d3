"""The table of everything the API serves: one row per resource.

A row says where the resource is, how clients may name it, which schema message describes it and
which strategy gives it its own behaviour. Order matters: discovery lists groups in table order, and
the first group wins when a short name is ambiguous, so `batch` stands before `batch.volcano.sh`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final, Literal

import msgspec

from longshore.api.strategy import Strategy

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
STATUS_VERBS = ("get", "patch", "update")

Style = Literal["builtin", "custom"]


class Subresource(msgspec.Struct, frozen=True):
    """A path below an object, e.g. `pods/log`. `kind` and `group_version` are those of its answer."""

    name: str
    verbs: tuple[str, ...]
    kind: str
    group_version: str = ""
    """The group and version of the answer, if not the parent's: policy/v1 for pods/eviction."""


class PrinterColumn(msgspec.Struct, frozen=True):
    """A column that `kubectl get` shows for a custom resource, as in `additionalPrinterColumns`."""

    name: str
    type: str
    json_path: str
    format: str = ""
    description: str = ""
    priority: int = 0


class Resource(msgspec.Struct, frozen=True, dict=True):
    """One row. `storage` is the key space in the store: the events of both groups share one."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    behaviour: Strategy | Callable[[], Strategy] = Strategy
    """The strategy, or the function that imports or makes it at its first use."""
    message: str = ""
    """Id of the schema message, e.g. `batch/v1.Job`; empty for custom resources with their own schema."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: Mapping[str, Subresource] = msgspec.field(default_factory=dict)
    style: Style = "builtin"
    """`custom` kinds: JSON and YAML only, no strategic merge patch, PUT needs resourceVersion,
    list items carry apiVersion and kind."""
    storage: str = ""
    columns: tuple[PrinterColumn, ...] = ()
    """Columns of a user's own kind; built-in kinds have theirs in `apiserver/tables/`."""
    list_name: str = ""
    """The kind of lists, if it is not the kind followed by `List`."""
    selectable: tuple[str, ...] = ()
    """Fields beyond metadata that field selectors of a user's own kind may name, as `spec.color`."""
    warning: str = ""
    """The warning with every answer, if this version of a user's own kind is deprecated."""
    group_version: str = ""
    """`v1` or `batch/v1`, made from `group` and `version`."""

    def __post_init__(self) -> None:
        if not self.storage:
            storage = f"{self.group}/{self.plural}" if self.group else self.plural
            msgspec.structs.force_setattr(self, "storage", storage)
        group_version = f"{self.group}/{self.version}" if self.group else self.version
        msgspec.structs.force_setattr(self, "group_version", group_version)

    @cached_property
    def strategy(self) -> Strategy:
        return self.behaviour if isinstance(self.behaviour, Strategy) else self.behaviour()

    @property
    def storage_group(self) -> str:
        """The group in which objects are stored. A 422 names it: events of both groups are core `Event`s."""
        return self.storage.rpartition("/")[0]

    @property
    def list_kind(self) -> str:
        return self.list_name or self.kind + "List"

    @property
    def qualified(self) -> str:
        """The resource as error messages name it: `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


OWN_GROUP: Final = "longshore.dev"
OWN_VERSION: Final = "v1"


def own(kind: str, plural: str, *, namespaced: bool, verbs: tuple[str, ...] = ("get",)) -> Resource:
    """A resource of longshore's own group. Its documents are JSON or YAML, made on request."""
    return Resource(
        OWN_GROUP,
        OWN_VERSION,
        kind,
        plural,
        kind.lower(),
        namespaced,
        Strategy(),
        verbs=verbs,
        style="custom",
    )
