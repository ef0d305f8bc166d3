"""Scheduler and node both act on pods: whoever asks why hears both, in the order things happened."""

from __future__ import annotations

from longshore.machinery.explanations import Explanation
from longshore.machinery.reasons import Reason
from longshore.plane import why_page


def told(at: float, words: str) -> Explanation:
    return Explanation("u", at, (Reason("Told", words, {"pods": 3}),))


def plans(page: object) -> list[str]:
    assert callable(page)
    return [plan["why"][0] for plan in page("namespaces/default/pods/x")["plans"]]


def test_all_who_know_an_object_are_heard_oldest_first() -> None:
    reasons = why_page.Reasons()
    reasons.tell("pods", "node", lambda namespace, name: [told(2.0, "started")])
    reasons.tell("pods", "scheduler", lambda namespace, name: [told(1.0, "bound")])
    assert plans(why_page.page(reasons)) == ["bound", "started"]


def test_one_that_was_started_again_is_not_heard_twice() -> None:
    reasons = why_page.Reasons()
    for word in ("before", "after"):
        reasons.tell("pods", "node", lambda namespace, name, word=word: [told(1.0, word)])
    assert plans(why_page.page(reasons)) == ["after"]


def test_who_only_cleans_up_is_heard_when_there_is_something_to_say() -> None:
    reasons = why_page.Reasons()
    reasons.add("pods", "podgc", lambda namespace, name: [told(1.0, "gone")] * (name == "x"))
    page = why_page.page(reasons)
    assert plans(page) == ["gone"]
    assert page("namespaces/default/pods/y") is None


def test_objects_without_a_namespace_have_a_shorter_path() -> None:
    reasons = why_page.Reasons()
    reasons.tell("namespaces", "controller", lambda namespace, name: [told(1.0, name)])
    assert why_page.path("", "namespaces", "team") == "/longshore/why/namespaces/team"
    answer = why_page.page(reasons)("namespaces/team")
    assert answer is not None
    (plan,) = answer["plans"]
    assert plan["why"] == ["team"]
    assert plan["reasons"] == [{"code": "Told", "words": "team", "numbers": {"pods": 3}}]


def test_what_nobody_knows_is_no_page() -> None:
    assert why_page.page(why_page.Reasons())("namespaces/default/pods/x") is None


def test_objects_of_no_namespace_have_their_page() -> None:
    reasons = why_page.Reasons()
    reasons.tell("queues", "controller", lambda namespace, name: [Explanation(namespace + name, 1.0, ())])
    path = why_page.path("", "queues", "q")
    page = why_page.page(reasons)(path.removeprefix(why_page.PREFIX))
    assert page is not None
    assert [plan["uid"] for plan in page["plans"]] == ["q"]
