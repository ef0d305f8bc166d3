"""What the collector decides for one object, from its owners and dependents alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from longshore.api.types import Obj
from longshore.controllers.garbage.decide import Action, GarbageView, Live, Owner, decide
from longshore.controllers.garbage.references import Reference

NOW = "2026-01-01T00:00:00Z"


def view(*owners: Owner, blocks: bool = True, **changes: Any) -> GarbageView:
    refs = tuple(Reference("v1", "ConfigMap", f"o{n}", f"uid-{n}", blocks) for n in range(len(owners)))
    meta: Obj = {"name": "x", "uid": "x", "resourceVersion": "1", **changes.pop("meta", {})}
    return GarbageView(meta, refs, owners, **changes)


def test_without_owners_nothing_happens() -> None:
    assert decide(view()).action is Action.NOTHING


def test_a_solid_owner_keeps_the_object() -> None:
    plan = decide(view(Owner.SOLID))
    assert plan.action is Action.NOTHING
    assert [*map(str, plan.why)] == ["its owner ConfigMap o0 is there"]


@pytest.mark.parametrize("other", [Owner.DANGLING, Owner.WAITING])
def test_beside_a_solid_owner_the_references_to_others_are_dropped(other: Owner) -> None:
    plan = decide(view(other, Owner.SOLID, other))
    assert plan.action is Action.DROP_REFERENCES
    assert plan.references == ("uid-0", "uid-2")


def test_a_wrong_reference_to_a_solid_owner_is_not_dropped_since_that_would_drop_both() -> None:
    right, wrong = (Reference("v1", kind, "o", "same") for kind in ("ConfigMap", "Secret"))
    plan = decide(GarbageView({"uid": "x"}, (right, wrong), (Owner.SOLID, Owner.DANGLING)))
    assert plan.action is Action.NOTHING


def test_with_dangling_owners_only_it_is_deleted_in_the_background() -> None:
    plan = decide(view(Owner.DANGLING, Owner.DANGLING, dependents=3))
    assert (plan.action, plan.policy) == (Action.DELETE, "Background")
    assert [*map(str, plan.why)] == ["its owner ConfigMap o0 does not exist"]


def test_finalizers_of_its_own_choose_how_it_is_deleted() -> None:
    orphan = decide(view(Owner.DANGLING, meta={"finalizers": ["x/y", "orphan"]}))
    foreground = decide(view(Owner.DANGLING, meta={"finalizers": ["foregroundDeletion"]}))
    assert (orphan.action, orphan.policy) == (Action.DELETE, "Orphan")
    assert (foreground.action, foreground.policy) == (Action.DELETE, "Foreground")


def test_a_waiting_owner_deletes_it_in_the_foreground_if_it_has_dependents() -> None:
    plan = decide(view(Owner.DANGLING, Owner.WAITING, dependents=2))
    assert (plan.action, plan.policy) == (Action.DELETE, "Foreground")


def test_a_waiting_owner_deletes_it_in_the_background_if_it_has_none() -> None:
    plan = decide(view(Owner.WAITING))
    assert (plan.action, plan.policy) == (Action.DELETE, "Background")
    assert [*map(str, plan.why)] == ["its owner ConfigMap o0 waits for its dependents to be deleted"]


def test_a_ring_is_opened_before_it_is_deleted() -> None:
    ring: dict[str, Any] = {"dependents": 1, "deleting_dependents": True}
    assert decide(view(Owner.WAITING, **ring)).action is Action.UNBLOCK
    opened = decide(view(Owner.WAITING, blocks=False, **ring))
    assert (opened.action, opened.policy) == (Action.DELETE, "Foreground")


def test_an_owner_of_an_unknown_kind_keeps_it_for_now() -> None:
    for owners in ((Owner.UNKNOWN,), (Owner.DANGLING, Owner.UNKNOWN)):
        assert decide(view(*owners)).action is Action.LOOK_AGAIN


def test_a_namespaced_owner_of_a_cluster_scoped_object_is_never_resolved() -> None:
    assert decide(view(Owner.DANGLING, Owner.UNRESOLVABLE)).action is Action.NOTHING


def test_what_is_being_deleted_is_left_alone() -> None:
    assert decide(view(Owner.DANGLING, meta={"deletionTimestamp": NOW})).action is Action.NOTHING


FOREGROUND: Obj = {"deletionTimestamp": NOW, "finalizers": ["foregroundDeletion", "x/y"]}
ORPHAN: Obj = {"deletionTimestamp": NOW, "finalizers": ["orphan"]}


def test_foreground_deletion_waits_for_blocking_dependents() -> None:
    plan = decide(GarbageView(FOREGROUND, dependents=5, blocking=2))
    assert plan.action is Action.NOTHING
    assert [*map(str, plan.why)] == ["it waits for 2 dependents to be deleted"]


def test_foreground_deletion_ends_when_no_dependent_blocks() -> None:
    plan = decide(GarbageView(FOREGROUND, dependents=5, blocking=0))
    assert (plan.action, plan.finalizer) == (Action.REMOVE_FINALIZER, "foregroundDeletion")


def test_foreground_deletions_that_wait_for_each_other_are_unblocked() -> None:
    assert decide(GarbageView(FOREGROUND, dependents=1, blocking=1, deadlocked=True)).action is Action.UNBLOCK


def test_an_orphaning_owner_lets_its_dependents_go_first() -> None:
    assert decide(GarbageView(ORPHAN, dependents=2)).action is Action.ORPHAN_DEPENDENTS


def test_an_orphaning_owner_without_dependents_is_released() -> None:
    plan = decide(GarbageView(ORPHAN))
    assert (plan.action, plan.finalizer) == (Action.REMOVE_FINALIZER, "orphan")


def test_foreground_finalizers_without_a_deletion_mean_nothing() -> None:
    assert decide(GarbageView({"finalizers": ["foregroundDeletion"]}, dependents=2)).action is Action.NOTHING


def test_what_changed_under_the_delete_is_judged_once_more() -> None:
    refused = view(Owner.DANGLING, meta={"ownerReferences": []})

    def after(live: Obj | None) -> Any:
        return decide(replace(refused, live=Live(live)))

    same = after({**refused.meta, "resourceVersion": "2", "finalizers": ["orphan"]})
    assert (same.action, same.policy, same.any_version) == (Action.DELETE, "Orphan", True)
    assert after({**refused.meta, "deletionTimestamp": NOW}).action is Action.NOTHING
    assert after({**refused.meta, "ownerReferences": [{"uid": "new"}]}).action is Action.START_OVER
    assert after({**refused.meta, "uid": "another"}).action is Action.FORGET
    assert after(None).action is Action.FORGET


def test_an_owner_that_stays_unknown_is_asked_for_less_and_less_often() -> None:
    pauses = [decide(view(Owner.UNKNOWN, polls=polls)).look_again for polls in (0, 1, 5, 100)]
    assert pauses == [0.1, 0.2, 3.2, 300.0]
    assert decide(view(Owner.SOLID)).look_again is None


def test_a_saved_view_gives_the_same_plan() -> None:
    for seen in (
        view(Owner.WAITING, Owner.DANGLING, dependents=2, deleting_dependents=True),
        view(Owner.UNKNOWN, polls=3),
        replace(view(Owner.DANGLING), live=Live({"uid": "x", "resourceVersion": "2"})),
    ):
        loaded = msgspec.json.decode(msgspec.json.encode(seen), type=GarbageView)
        assert loaded == seen
        assert decide(loaded) == decide(seen)
