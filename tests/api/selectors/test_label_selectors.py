"""Label selectors: the grammar, its refusals, and what matches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.selectors import labels
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api"


def recorded() -> list[tuple[str, str | None]]:
    out = []
    for theme in ("list", "deletecollection", "watch"):
        for exchange in json.loads((VECTORS / f"{theme}.json").read_text()):
            query, response = exchange["request"].get("query") or {}, exchange["response"]
            text = query.get("labelSelector")
            if text and "<" not in text.replace("n<5", ""):
                message = response["body"]["message"] if response["status"] == 400 else None
                out.append((text, message))
    return out


def test_every_recorded_selector_is_taken_or_refused_in_kubernetes_words() -> None:
    assert len(recorded()) > 40
    for text, message in recorded():
        assert refusal(text) == message, text


def refusal(text: str) -> str | None:
    try:
        labels.parse(text)
    except StatusError as error:
        return error.message
    return None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a=b,!", "unable to parse requirement: found '', expected: identifier"),
        ("!a in (b)", "found 'in', expected: ',' or 'end of string'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        (
            "n>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    assert refusal(text) == message


@pytest.mark.parametrize(
    ("text", "own", "matches"),
    [
        ("", {}, True),
        ("a=1", {"a": "1"}, True),
        ("a=1", {}, False),
        ("a==1,b=2", {"a": "1", "b": "2"}, True),
        ("a=1,b=2", {"a": "1", "b": "3"}, False),
        ("a=1,a=2", {"a": "2"}, False),
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a in (1, 2)", {"a": "2"}, True),
        ("a in (1,,2)", {"a": ""}, True),
        ("a in ()", {"a": ""}, True),
        ("a in ()", {}, False),
        ("a notin (1)", {}, True),
        ("a notin (1)", {"a": "1"}, False),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("!a , b", {"b": "x"}, True),
        ("in in (in,notin)", {"in": "notin"}, True),
        ("n>5", {"n": "6"}, True),
        ("n>5", {"n": "5"}, False),
        ("n<5", {"n": "-7"}, True),
        ("n<5", {"n": "four"}, False),
        ("n<5", {}, False),
        ("n<5", {"n": "-9223372036854775809"}, False),
        ("a=\n1", {"a": "1"}, True),
    ],
)
def test_a_selector_matches_labels(text: str, own: dict[str, str], matches: bool) -> None:
    assert labels.parse(text).matches(own) is matches


def test_only_a_selector_without_requirements_is_empty() -> None:
    assert labels.parse("").empty
    assert labels.parse(" ").empty
    assert not labels.parse("a").empty
    assert not labels.NOTHING.empty


@pytest.mark.parametrize(
    ("selector", "own", "matches"),
    [
        (None, {"a": "1"}, False),
        ({}, {"a": "1"}, True),
        ({"matchLabels": {"a": "1"}}, {"a": "1", "b": "2"}, True),
        ({"matchLabels": {"a": "1"}}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, {"a": "2"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False),
        (
            {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]},
            {"a": "1"},
            False,
        ),
    ],
)
def test_a_selector_object_matches_labels(selector: Any, own: dict[str, str], matches: bool) -> None:
    assert labels.from_selector(selector).matches(own) is matches
