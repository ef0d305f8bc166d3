"""Who hears of an object: handlers of shards hear of their namespaces alone, and are found quickly."""

from __future__ import annotations

from longshore.client.protocol import Only
from longshore.machinery.informers.heard_objects import Audience, Handler


def only(*namespaces: str) -> Only:
    return lambda namespace: namespace in namespaces


def test_a_handler_hears_of_its_namespaces_and_of_objects_in_none() -> None:
    audience, mine, everybody = Audience(), Handler(), Handler()
    audience.add(mine, only("a"))
    audience.add(everybody, None)
    assert audience.of("a") == (mine, everybody)
    assert audience.of("b") == (everybody,)
    assert audience.of("") == (mine, everybody)


def test_who_comes_later_hears_of_namespaces_that_were_asked_for_before() -> None:
    audience, first, second = Audience(), Handler(), Handler()
    audience.add(first, None)
    assert audience.of("a") == (first,)
    audience.add(second, only("a"))
    assert audience.of("a") == (first, second)
    audience.drop([first])
    assert audience.of("a") == (second,)
    audience.drop([first, second])
    assert audience.of("a") == ()


def test_who_is_added_twice_hears_once() -> None:
    audience, handler = Audience(), Handler()
    audience.add(handler, None)
    audience.add(handler, None)
    assert audience.of("a") == (handler,)


def test_each_is_asked_once_about_a_namespace_not_for_every_change() -> None:
    asked: list[str] = []

    def first(namespace: str) -> bool:
        asked.append(namespace)
        return namespace == "a"

    audience = Audience()
    audience.add(Handler(), first)
    for _ in range(100):
        audience.of("a"), audience.of("b")
    assert asked == ["a", "b"]


def test_more_namespaces_than_are_remembered_are_found_all_the_same() -> None:
    audience, handler = Audience(), Handler()
    audience.add(handler, lambda namespace: namespace.endswith("7"))
    for number in range(10_000):
        assert audience.of(f"ns-{number}") == ((handler,) if number % 10 == 7 else ())
