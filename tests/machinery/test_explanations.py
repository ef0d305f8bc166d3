"""The last reasons of each object, for as long as there is room."""

from __future__ import annotations

from longshore.machinery.explanations import Explanation, Explanations

KEY = ("ns", "x")


def told(why: str, at: float = 0.0, problem: str = "") -> Explanation:
    return Explanation("uid", at, (why,), problem)


def test_the_last_ones_are_kept_oldest_first() -> None:
    kept = Explanations(per_object=3)
    for n in range(5):
        kept.add(KEY, told(f"reason {n}"))
    assert [one.why for one in kept.of("ns", "x")] == [("reason 2",), ("reason 3",), ("reason 4",)]


def test_repeats_in_a_row_are_one_with_a_count_and_the_last_time() -> None:
    kept = Explanations()
    for at in (1.0, 2.0, 3.0):
        kept.add(KEY, told("same", at))
    kept.add(KEY, told("same", 4.0, problem="away"))
    assert [(one.at, one.times, one.problem) for one in kept.of("ns", "x")] == [
        (3.0, 3, ""),
        (4.0, 1, "away"),
    ]


def test_objects_not_looked_at_for_longest_are_forgotten_first() -> None:
    kept = Explanations(objects=2)
    for name in ("a", "b", "a", "c"):
        kept.add(("ns", name), told(name))
    assert kept.of("ns", "b") == ()
    assert kept.of("ns", "a")
    assert kept.of("ns", "c")
