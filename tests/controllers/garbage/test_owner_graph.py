"""The owner graph: whom a change makes it look at."""

from __future__ import annotations

from typing import Any

from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.controllers.garbage.graph import Graph, Node
from longshore.controllers.garbage.references import READS, Identity, Reference


def _row(group: str, version: str, plural: str) -> Resource:
    row = table.find(group, version, plural)
    assert row is not None
    return row


PODS, JOBS, NODES = _row("", "v1", "pods"), _row("batch", "v1", "jobs"), _row("", "v1", "nodes")


class Heard:
    """Keeps what a graph says."""

    def __init__(self) -> None:
        self.looks: list[str] = []
        self.gone: list[Identity] = []
        self.misplacements: list[tuple[str, str]] = []

    def look(self, uid: str) -> None:
        self.looks.append(uid)

    def look_all(self, owner: str, dependents: list[str]) -> None:
        self.looks += dependents

    def absent(self, identity: Identity) -> None:
        self.gone.append(identity)

    def misplaced(self, node: Node, ref: Reference) -> None:
        self.misplacements.append((node.uid, ref.uid))

    def take(self) -> list[str]:
        taken, self.looks = self.looks, []
        return taken


class Drawn:
    """A graph under test. An object's name and uid are the same word."""

    def __init__(self) -> None:
        self.heard = Heard()
        self.graph = Graph(self.heard)

    def put(self, row: Resource, uid: str, *owners: Obj, namespace: str = "ns", **meta: Any) -> None:
        whole: Obj = {"name": uid, "uid": uid, "resourceVersion": "1", "managedFields": [], **meta}
        if row.namespaced:
            whole["namespace"] = namespace
        if owners:
            whole["ownerReferences"] = [*owners]
        self.graph.put(row, READS.of({"metadata": whole, "spec": {}})["metadata"])

    def node(self, uid: str) -> Node:
        return self.graph.nodes[uid]


def ref(uid: str, kind: str = "Job", *, blocks: bool = True, **changes: str) -> Obj:
    version = {"Job": "batch/v1", "Pod": "v1", "Node": "v1"}[kind]
    return {
        "apiVersion": version,
        "kind": kind,
        "name": uid,
        "uid": uid,
        "blockOwnerDeletion": blocks,
        **changes,
    }


FOREGROUND: Obj = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}
ORPHAN: Obj = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["orphan"]}


def test_a_dependent_of_an_owner_that_was_seen_needs_no_look() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job")
    drawn.put(PODS, "pod", ref("job"))
    assert drawn.heard.take() == []
    assert [*drawn.node("job").dependents] == ["pod"]
    assert drawn.node("job").blocking == 1


def test_an_owner_not_seen_yet_is_virtual_and_looked_at() -> None:
    drawn = Drawn()
    drawn.put(PODS, "pod", ref("job"))
    assert drawn.node("job").virtual
    assert drawn.heard.take() == ["job"]


def test_a_virtual_owner_becomes_real_when_seen_and_keeps_its_dependents() -> None:
    drawn = Drawn()
    drawn.put(PODS, "pod", ref("job"))
    drawn.heard.take()
    drawn.put(JOBS, "job")
    assert not drawn.node("job").virtual
    assert drawn.node("job").blocking == 1
    assert drawn.heard.take() == []


def test_a_virtual_owner_goes_with_its_last_dependent() -> None:
    drawn = Drawn()
    drawn.put(PODS, "pod", ref("job"))
    drawn.graph.remove("pod")
    assert drawn.graph.nodes == {}


def test_dependents_of_a_removed_owner_are_looked_at_and_the_owner_is_known_absent() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job")
    drawn.put(PODS, "a", ref("job"))
    drawn.put(PODS, "b", ref("job"))
    drawn.graph.remove("job")
    assert drawn.heard.take() == ["a", "b"]
    assert drawn.heard.gone == [Identity("batch/v1", "Job", "ns", "job", "job")]


def test_removing_what_nobody_names_concerns_nobody() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job")
    drawn.graph.remove("job")
    drawn.graph.remove("job")
    assert drawn.heard.take() == []
    assert drawn.heard.gone == []


def test_foreground_deletion_concerns_the_owner_and_all_dependents_once() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job")
    drawn.put(PODS, "a", ref("job"))
    drawn.put(PODS, "b", ref("job", blocks=False))
    drawn.put(JOBS, "job", **FOREGROUND)
    assert drawn.heard.take() == ["a", "b", "job"]
    drawn.put(JOBS, "job", **FOREGROUND, resourceVersion="7")
    assert drawn.heard.take() == []


def test_an_owner_in_foreground_deletion_is_looked_at_when_its_last_blocking_dependent_goes() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job", **FOREGROUND)
    for name in ("a", "b"):
        drawn.put(PODS, name, ref("job"))
    drawn.put(PODS, "c", ref("job", blocks=False))
    drawn.heard.take()
    drawn.graph.remove("a")
    assert drawn.heard.take() == []
    drawn.graph.remove("b")
    assert drawn.heard.take() == ["job"]
    assert drawn.node("job").blocking == 0


def test_a_dependent_that_stops_blocking_frees_its_owner() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job", **FOREGROUND)
    drawn.put(PODS, "a", ref("job"))
    drawn.put(PODS, "b", ref("job"))
    drawn.heard.take()
    drawn.put(PODS, "a", ref("job", blocks=False))
    drawn.put(PODS, "b")
    assert "job" in drawn.heard.take()
    assert drawn.node("job").blocking == 0
    assert [*drawn.node("job").dependents] == ["a"]


def test_a_new_dependent_of_an_owner_in_foreground_deletion_is_looked_at() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job", **FOREGROUND)
    drawn.heard.take()
    drawn.put(PODS, "pod", ref("job"))
    assert drawn.heard.take() == ["pod"]


def test_an_orphaning_owner_is_looked_at_once() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job")
    drawn.put(JOBS, "job", **ORPHAN)
    drawn.put(JOBS, "job", **ORPHAN, resourceVersion="7")
    assert drawn.heard.take() == ["job"]


def test_background_deletion_concerns_nobody_until_the_owner_is_gone() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job")
    drawn.put(PODS, "pod", ref("job"))
    drawn.put(JOBS, "job", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["example.com/hold"])
    assert drawn.heard.take() == []


def test_an_owner_in_another_namespace_is_told_in_either_order() -> None:
    for order in (("job", "pod"), ("pod", "job")):
        drawn = Drawn()
        for name in order:
            if name == "job":
                drawn.put(JOBS, "job", namespace="elsewhere")
            else:
                drawn.put(PODS, "pod", ref("job"))
        assert drawn.heard.misplacements == [("pod", "job")]
        assert "pod" in drawn.heard.take()


def test_a_cluster_scoped_owner_may_be_named_from_any_namespace() -> None:
    drawn = Drawn()
    drawn.put(NODES, "node")
    drawn.put(PODS, "pod", ref("node", "Node"))
    assert drawn.heard.take() == []
    assert drawn.heard.misplacements == []


def test_a_reference_with_the_right_uid_and_another_kind_is_looked_at_without_an_event() -> None:
    for wrong in (ref("job", kind="Pod"), ref("job", name="other"), ref("job", apiVersion="batch/v2")):
        for order in ((0, 1), (1, 0)):
            drawn = Drawn()
            for step in order:
                if step:
                    drawn.put(JOBS, "job")
                else:
                    drawn.put(PODS, "pod", wrong)
            assert "pod" in drawn.heard.take()
            assert drawn.heard.misplacements == []


def test_an_object_that_owns_itself_does_not_wait_for_itself() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job", ref("job"))
    drawn.put(JOBS, "job", ref("job"), **FOREGROUND)
    assert drawn.node("job").blocking == 0
    assert drawn.heard.take() == ["job"]


def test_counts_stay_right_when_references_and_deletion_change_together() -> None:
    drawn = Drawn()
    for name in ("one", "two"):
        drawn.put(JOBS, name, **FOREGROUND)
    drawn.put(PODS, "pod", ref("one"))
    drawn.put(PODS, "pod", ref("one"), ref("two"), **FOREGROUND)
    assert [(drawn.node(n).blocking, drawn.node(n).holding) for n in ("one", "two")] == [(1, 0), (1, 0)]
    drawn.put(PODS, "pod", ref("two"))
    assert [(drawn.node(n).blocking, drawn.node(n).holding) for n in ("one", "two")] == [(0, 0), (1, 1)]
    drawn.graph.remove("pod")
    assert [(drawn.node(n).blocking, drawn.node(n).holding) for n in ("one", "two")] == [(0, 0), (0, 0)]


def test_two_references_to_one_owner_count_once() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job")
    drawn.put(PODS, "pod", ref("job", blocks=False), ref("job", name="other"))
    assert drawn.node("job").blocking == 1
    drawn.graph.remove("pod")
    assert drawn.node("job").blocking == 0


def test_objects_that_wait_for_each_other_are_deadlocked() -> None:
    drawn = Drawn()
    drawn.put(PODS, "a", ref("b", "Pod"), **FOREGROUND)
    drawn.put(PODS, "b", ref("a", "Pod"), **FOREGROUND)
    assert drawn.graph.deadlocked(drawn.node("a"))
    assert drawn.graph.deadlocked(drawn.node("b"))


def test_a_chain_is_not_deadlocked() -> None:
    drawn = Drawn()
    drawn.put(PODS, "a", **FOREGROUND)
    drawn.put(PODS, "b", ref("a", "Pod"), **FOREGROUND)
    drawn.put(PODS, "c", ref("b", "Pod"), **FOREGROUND)
    assert not drawn.graph.deadlocked(drawn.node("a"))


def test_a_ring_with_a_member_that_is_not_deleted_yet_is_not_deadlocked() -> None:
    drawn = Drawn()
    drawn.put(PODS, "a", ref("c", "Pod"), **FOREGROUND)
    drawn.put(PODS, "b", ref("a", "Pod"))
    drawn.put(PODS, "c", ref("b", "Pod"), **FOREGROUND)
    assert not drawn.graph.deadlocked(drawn.node("a"))


def test_a_ring_is_looked_at_when_its_last_member_begins_to_wait() -> None:
    drawn = Drawn()
    drawn.put(PODS, "a", ref("b", "Pod"), **FOREGROUND)
    drawn.put(PODS, "b", ref("a", "Pod"))
    drawn.heard.take()
    drawn.put(PODS, "b", ref("a", "Pod"), **FOREGROUND)
    assert "a" in drawn.heard.take()


def test_only_a_little_of_each_object_is_kept() -> None:
    drawn = Drawn()
    drawn.put(JOBS, "job", labels={"a": "b"}, annotations={"c": "d"})
    assert set(drawn.node("job").meta) == {"name", "namespace", "uid", "resourceVersion"}
