"""Changes are folded on their way, but never a creation or a deletion."""

from __future__ import annotations

from longshore.client.source import Unpacked
from longshore.machinery.informers.followed_selection import Batch, Deltas
from machinery.scripted_api import obj


def shown(batch: Batch | None) -> list[tuple[str, str, str]]:
    assert batch is not None
    return [(kind.name, name, o.obj["metadata"]["resourceVersion"]) for kind, (_, name), o in batch.deltas]


def test_nothing_collected_gives_nothing() -> None:
    assert Deltas().take() is None


def test_updates_of_one_object_become_the_last_of_them() -> None:
    deltas = Deltas()
    for version, name in ((1, "a"), (2, "b"), (3, "a"), (4, "a")):
        deltas.changed([("MODIFIED", Unpacked(obj(name, version)))], version)
    batch = deltas.take()
    assert shown(batch) == [("MODIFIED", "a", "4"), ("MODIFIED", "b", "2")]
    assert batch is not None
    assert batch.revision == 4
    assert deltas.take() is None


def test_each_update_stays_for_those_who_ask_for_each() -> None:
    deltas = Deltas()
    deltas.folds = False
    for version in (1, 2, 3):
        deltas.changed([("MODIFIED", Unpacked(obj("a", version)))], version)
    assert shown(deltas.take()) == [("MODIFIED", "a", "1"), ("MODIFIED", "a", "2"), ("MODIFIED", "a", "3")]


def test_creations_and_deletions_stay() -> None:
    deltas = Deltas()
    deltas.changed([("ADDED", Unpacked(obj("a", 1)))], 1)
    deltas.changed([("MODIFIED", Unpacked(obj("a", 2)))], 2)
    deltas.changed([("MODIFIED", Unpacked(obj("a", 3)))], 3)
    deltas.changed([("DELETED", Unpacked(obj("a", 4)))], 4)
    deltas.changed([("ADDED", Unpacked(obj("a", 5, uid="new")))], 5)
    deltas.changed([("MODIFIED", Unpacked(obj("a", 6, uid="new")))], 6)
    assert shown(deltas.take()) == [
        ("ADDED", "a", "1"),
        ("MODIFIED", "a", "3"),
        ("DELETED", "a", "4"),
        ("ADDED", "a", "5"),
        ("MODIFIED", "a", "6"),
    ]


def test_what_was_taken_does_not_fold_with_what_comes_later() -> None:
    deltas = Deltas()
    deltas.changed([("MODIFIED", Unpacked(obj("a", 1)))], 1)
    first = deltas.take()
    deltas.changed([("MODIFIED", Unpacked(obj("a", 2)))], 2)
    assert shown(first) == [("MODIFIED", "a", "1")]
    assert shown(deltas.take()) == [("MODIFIED", "a", "2")]


def test_the_end_of_a_list_begins_a_batch_of_its_own_after_what_came_before() -> None:
    deltas = Deltas()
    deltas.changed([("MODIFIED", Unpacked(obj("a", 1)))], 1)
    deltas.listed([Unpacked(obj("a", 5)), Unpacked(obj("b", 4))])
    deltas.list_ended({("ns", "a"), ("ns", "b")}, 6)
    deltas.changed([("MODIFIED", Unpacked(obj("a", 7)))], 7)
    first, second = deltas.take(), deltas.take()
    assert shown(first) == [("MODIFIED", "a", "1"), ("LISTED", "a", "5"), ("LISTED", "b", "4")]
    assert second is not None
    assert second.everything == {("ns", "a"), ("ns", "b")}
    assert shown(second) == [("MODIFIED", "a", "7")]
    assert second.revision == 7


def test_an_empty_list_is_told_too() -> None:
    deltas = Deltas()
    deltas.list_ended(set(), 0)
    batch = deltas.take()
    assert batch is not None
    assert batch.everything == set()


def test_a_resync_is_not_told_of_objects_with_news() -> None:
    deltas = Deltas()
    deltas.changed([("DELETED", Unpacked(obj("a", 2)))], 2)
    deltas.resync(obj("a", 1))
    deltas.resync(obj("b", 1))
    assert shown(deltas.take()) == [("DELETED", "a", "2"), ("RESYNC", "b", "1")]


def test_a_bookmark_only_moves_the_revision() -> None:
    deltas = Deltas()
    deltas.bookmark(9)
    batch = deltas.take()
    assert shown(batch) == []
    assert batch is not None
    assert batch.revision == 9
