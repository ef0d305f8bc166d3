"""The book of reasons: what is new is kept once, found by the object, and bundled by the second."""

from __future__ import annotations

from collections.abc import Iterator

from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.reason_book import ReasonBook
from longshore.machinery.reasons import Reason
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock

CREATED = Reason("PodsCreated", {"pods": 2})
ENOUGH = Reason("PodsActive", {"active": 2, "wanted": 2})
FAILED = Reason("Failed", {"reason": "BackoffLimitExceeded"})


class Shelf:
    """Bundles in a list."""

    def __init__(self) -> None:
        self.bundles: list[bytes] = []

    def add(self, at: float, notes: int, data: bytes) -> None:
        self.bundles.append(data)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.bundles)


def told(*looks: tuple[tuple[Reason, ...], str], uid: str = "u") -> list[tuple[str, str]]:
    """Code and words of what is kept after these looks."""

    async def run(clock: VirtualClock) -> list[tuple[str, str]]:
        book = ReasonBook(clock, Shelf())
        explanations = Explanations(book.teller("job", "Job controller"))
        for why, problem in looks:
            explanations.add(("ns", "j"), Explanation(uid, clock.timestamp(), why, problem))
        return [(record.code, record.words) for record in book.of([("job", "ns", "j")])]

    return virtual.run(run)


def test_a_reason_is_kept_once_however_often_it_is_said() -> None:
    look = ((CREATED,), "")
    assert told(look, look, look) == [("PodsCreated", "creates 2 pods")]


def test_looks_that_found_nothing_to_tell_are_not_kept() -> None:
    assert told(((ENOUGH,), ""), ((), "")) == []


def test_a_reason_that_comes_back_after_others_is_told_again() -> None:
    kept = told(((CREATED,), ""), ((ENOUGH,), ""), ((CREATED,), ""))
    assert kept == [("PodsCreated", "creates 2 pods")] * 2


def test_of_several_reasons_only_the_new_ones_are_kept() -> None:
    kept = told(((CREATED,), ""), ((CREATED, FAILED), ""))
    assert [code for code, _ in kept] == ["PodsCreated", "Failed"]


def test_a_problem_is_kept_with_its_words_and_the_plan_again_once_it_is_carried_out() -> None:
    kept = told(((CREATED,), "quota exceeded"), ((CREATED,), "quota exceeded"), ((CREATED,), ""))
    created = ("PodsCreated", "creates 2 pods")
    assert kept == [created, ("Problem", "quota exceeded"), created]


def test_reasons_of_a_second_are_one_bundle_and_found_before_it_is_written() -> None:
    async def run(clock: VirtualClock) -> None:
        shelf = Shelf()
        book = ReasonBook(clock, shelf)
        tell = book.teller("job", "Job controller")
        for name in ("a", "b"):
            tell(("ns", name), "u", clock.timestamp(), CREATED)
        assert shelf.bundles == []
        await clock.sleep(1.5)
        assert len(shelf.bundles) == 1
        tell(("ns", "a"), "u", clock.timestamp(), FAILED)
        assert [record.code for record in book.of([("job", "ns", "a")])] == ["PodsCreated", "Failed"]
        assert book.of([("pod", "ns", "a"), ("job", "other", "a")]) == []

    virtual.run(run)


def test_who_speaks_of_many_kinds_is_kept_for_those_that_have_a_story() -> None:
    async def run(clock: VirtualClock) -> None:
        book = ReasonBook(clock, Shelf())
        tell = book.teller({"jobs.batch": "job"}, "garbage collector")
        tell(("ns", "jobs.batch/a"), "u", 1.0, FAILED)
        tell(("ns", "leases.coordination.k8s.io/a"), "u", 1.0, FAILED)
        (record,) = book.of([("job", "ns", "a")])
        assert (record.who, record.kind, record.name) == ("garbage collector", "job", "a")

    virtual.run(run)
