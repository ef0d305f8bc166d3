"""The graph of owners: every object by its uid, with its dependents. Pure bookkeeping, no I/O.

An owner that is named in a reference but was never seen has a virtual node, and must be verified. The graph
calls the `Listener` with objects to sync, never with what to do: `decide` reads state alone, so one sync too
many is harmless. The cost of a change depends on the references it touches, not on the number of dependents.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.controllers.garbage import references
from longshore.controllers.garbage.references import Identity, Reference


class Node(msgspec.Struct, eq=False):
    """One object. If `resource` is None, an owner that was named but never seen."""

    uid: str
    resource: Resource | None = None
    meta: Obj = msgspec.field(default_factory=dict)
    """The metadata that `references.READS` names; frozen."""
    refs: tuple[Reference, ...] = ()
    dependents: dict[str, Node] = msgspec.field(default_factory=dict)
    """Dependents by uid, in the order they were seen."""
    blocking: int = 0
    """The number of dependents that block the foreground deletion of this object."""
    holding: int = 0
    """The number of blocking dependents that are not in foreground deletion themselves."""
    in_foreground: bool = False
    """Whether this object is in foreground deletion, and counted as such by its owners."""

    @property
    def virtual(self) -> bool:
        return self.resource is None

    @property
    def name(self) -> str:
        name: str = self.meta.get("name", "")
        return name

    @property
    def namespace(self) -> str:
        """The namespace, or "" for a cluster-scoped object."""
        return self.meta.get("namespace") or ""

    @property
    def deleting(self) -> bool:
        return references.deleting(self.meta)

    @property
    def orphaning(self) -> bool:
        return references.orphaning(self.meta)

    @property
    def identity(self) -> Identity:
        assert self.resource is not None, "an object that was seen has a resource"
        row = self.resource
        return Identity(row.group_version, row.kind, self.namespace, self.name, self.uid)

    def __str__(self) -> str:
        if self.resource is None:
            return f"uid {self.uid}"
        return f"{self.resource.qualified} {self.namespace}/{self.name}".replace(" /", " ")


class Listener(Protocol):
    """Receives the consequences of a change in the graph."""

    def look(self, uid: str) -> None:
        """Requests a sync of this object or virtual owner."""

    def look_all(self, owner: str, dependents: list[str]) -> None:
        """Requests a sync of many dependents of one owner."""

    def absent(self, identity: Identity) -> None:
        """Reports an owner that no longer exists and is still named by dependents."""

    def misplaced(self, node: Node, ref: Reference) -> None:
        """Reports that `ref` of `node` names an owner that exists in another namespace."""


class Graph:
    def __init__(self, listener: Listener) -> None:
        self.nodes: dict[str, Node] = {}
        self._listener = listener

    def put(self, resource: Resource, meta: Obj) -> None:
        """Records that the object exists with this metadata."""
        uid = meta["uid"]
        node = self.nodes.get(uid)
        if node is None:
            node = self.nodes[uid] = Node(uid)
        first, old = node.resource is None, node.meta
        node.resource, node.meta = resource, meta
        if first and node.dependents:
            self._check_dependents(node)
        if meta.get("ownerReferences") != old.get("ownerReferences"):
            self._relink(node, references.references(meta))
        if not node.in_foreground and "deletionTimestamp" not in meta:
            return  # as nearly all are: it neither orphans its dependents nor waits for them
        if node.orphaning and not references.orphaning(old):
            self._listener.look(uid)
        if node.in_foreground != (foreground := references.in_foreground(meta)):
            self._turned(node, foreground)

    def remove(self, uid: str) -> None:
        """Records that the object is gone, and requests a sync of its dependents."""
        node = self.nodes.pop(uid, None)
        if node is None:
            return
        self._relink(node, ())
        if node.dependents:
            if not node.virtual:
                self._listener.absent(node.identity)
            self._listener.look_all(uid, [*node.dependents])

    def deadlocked(self, node: Node) -> bool:
        """Whether only objects in foreground deletion block `node`, and each of them is blocked in turn.

        Such objects wait for each other in a ring. If one can still be deleted, its owner is synced then."""
        seen, todo = {node.uid}, [node]
        while todo:
            one = todo.pop()
            if not one.blocking or one.holding:
                return False
            for dependent in one.dependents.values():
                if dependent.uid not in seen and _blocking(dependent.refs).get(one.uid):
                    seen.add(dependent.uid)
                    todo.append(dependent)
        return True

    # ---- edges

    def _relink(self, node: Node, refs: tuple[Reference, ...]) -> None:
        before, node.refs = node.refs, refs
        was, now = _blocking(before), _blocking(refs)
        for uid, blocked in was.items():
            if uid not in now:
                self._unlink(uid, node, blocked)
        for uid, blocks in now.items():
            if uid == node.uid:
                continue  # an object cannot wait for itself
            owner = self.nodes.get(uid)
            if owner is None:
                owner = self.nodes[uid] = Node(uid)
            owner.dependents[node.uid] = node
            if change := blocks - was.get(uid, False):
                owner.blocking += change
                owner.holding += change * (not node.in_foreground)
                if change < 0:
                    self._freed(owner)
        for ref in refs:
            if ref not in before:
                self._claimed(node, ref)

    def _unlink(self, uid: str, node: Node, blocked: bool) -> None:
        owner = self.nodes.get(uid)
        if owner is None or owner.dependents.pop(node.uid, None) is None:
            return
        if blocked:
            owner.blocking -= 1
            owner.holding -= not node.in_foreground
            self._freed(owner)
        if owner.virtual and not owner.dependents:
            del self.nodes[uid]

    def _claimed(self, node: Node, ref: Reference) -> None:
        """Requests a sync if a new reference may be wrong, or its owner is in foreground deletion."""
        owner = self.nodes.get(ref.uid)
        if owner is None or owner is node:
            return
        if owner.virtual:
            # The first dependent to name an owner has the owner verified; later dependents are synced
            # themselves.
            self._listener.look(owner.uid if len(owner.dependents) == 1 else node.uid)
        elif not matches(owner, ref, node.namespace):
            self._mismatch(owner, node, ref)
        elif owner.in_foreground:
            self._listener.look(node.uid)

    def _check_dependents(self, owner: Node) -> None:
        """Checks the references to an owner that is seen for the first time."""
        for node in [*owner.dependents.values()]:
            for ref in node.refs:
                if ref.uid == owner.uid and not matches(owner, ref, node.namespace):
                    self._mismatch(owner, node, ref)

    def _mismatch(self, owner: Node, node: Node, ref: Reference) -> None:
        if owner.namespace and owner.namespace != node.namespace:
            self._listener.misplaced(node, ref)
        self._listener.look(node.uid)

    # ---- foreground deletion

    def _turned(self, node: Node, foreground: bool) -> None:
        """Records that `node` entered foreground deletion, or left it because its finalizers were changed."""
        node.in_foreground = foreground
        for uid, blocks in _blocking(node.refs).items():
            owner = self.nodes.get(uid)
            if blocks and owner is not None and node.uid in owner.dependents:
                owner.holding += -1 if foreground else 1
                self._freed(owner)
        if foreground:
            if node.dependents:
                self._listener.look_all(node.uid, [*node.dependents])
            self._listener.look(node.uid)

    def _freed(self, owner: Node) -> None:
        if not owner.holding and owner.in_foreground:
            self._listener.look(owner.uid)


def matches(owner: Node, ref: Reference, namespace: str) -> bool:
    """Whether a reference of an object in `namespace` names this owner correctly in every field."""
    row = owner.resource
    return (
        row is not None
        and ref.name == owner.name
        and ref.kind == row.kind
        and ref.api_version == row.group_version
        and (not row.namespaced or owner.namespace == namespace)
    )


def _blocking(refs: tuple[Reference, ...]) -> dict[str, bool]:
    """Returns each owner's uid, and whether any reference to it blocks."""
    found: dict[str, bool] = {}
    for ref in refs:
        found[ref.uid] = found.get(ref.uid, False) or ref.blocks
    return found
