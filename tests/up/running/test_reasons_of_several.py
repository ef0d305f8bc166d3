"""Scheduler and node both act on pods: whoever asks why hears both, in the order things happened."""

from __future__ import annotations

from longshore.machinery.explanations import Explanation
from longshore.machinery.reasons import Reason
from longshore.plane import why_page


def told(at: float, words: str) -> Explanation:
    return Explanation("u", at, (Reason("Told", words, {"pods": 3}),))


def plans(reasons: why_page.Reasons) -> list[str]:
    return [plan["why"][0] for plan in reasons.of("pods", "default", "x") or ()]


def test_all_who_know_an_object_are_heard_oldest_first() -> None:
    reasons = why_page.Reasons()
    reasons.tell("pods", "node", lambda namespace, name: [told(2.0, "started")])
    reasons.tell("pods", "scheduler", lambda namespace, name: [told(1.0, "bound")])
    assert plans(reasons) == ["bound", "started"]


def test_one_that_was_started_again_is_not_heard_twice() -> None:
    reasons = why_page.Reasons()
    for word in ("before", "after"):
        reasons.tell("pods", "node", lambda namespace, name, word=word: [told(1.0, word)])
    assert plans(reasons) == ["after"]


def test_who_only_cleans_up_is_heard_when_there_is_something_to_say() -> None:
    reasons = why_page.Reasons()
    reasons.add("pods", "podgc", lambda namespace, name: [told(1.0, "gone")] * (name == "x"))
    assert plans(reasons) == ["gone"]
    assert reasons.of("pods", "default", "y") is None


def test_objects_without_a_namespace_have_a_resource_of_their_own() -> None:
    assert (
        why_page.path("", "namespaces", "team")
        == "/apis/longshore.dev/v1/clusterexplanations/namespaces.team"
    )
    assert why_page.path("a", "jobs", "j") == "/apis/longshore.dev/v1/namespaces/a/explanations/jobs.j"


def test_reasons_are_told_with_code_and_numbers() -> None:
    reasons = why_page.Reasons()
    reasons.tell("namespaces", "controller", lambda namespace, name: [told(1.0, name)])
    (plan,) = reasons.of("namespaces", "", "team") or ()
    assert plan["reasons"] == [{"code": "Told", "words": "team", "numbers": {"pods": 3}}]


def test_nothing_is_told_of_what_nobody_knows() -> None:
    assert why_page.Reasons().of("pods", "default", "x") is None
