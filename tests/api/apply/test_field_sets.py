"""Sets of fields behave as sets of paths, and read and write as `fieldsV1`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.api.apply import fieldset
from longshore.api.apply.fieldset import LEAF, SELF

STEPS = st.sampled_from(
    ["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"name":"y","port":1}', 'v:"x"', "v:1", "i:0"]
)
PATHS = st.frozensets(st.lists(STEPS, min_size=1, max_size=4).map(tuple), max_size=8)
few = settings(max_examples=60, deadline=None)


def tree(paths: frozenset[tuple[str, ...]]) -> dict[str, Any]:
    """The set of exactly these paths."""
    out: dict[str, Any] = {}
    for path in paths:
        node: dict[str, Any] = LEAF
        for step in reversed(path):
            node = {step: node}
        out = fieldset.union(out, node)
    return out


def members(fields: dict[str, Any]) -> frozenset[tuple[str, ...]]:
    return frozenset(fieldset.paths(fields))


@few
@given(PATHS)
def test_a_set_holds_the_paths_it_was_made_of(paths: frozenset[tuple[str, ...]]) -> None:
    made = tree(paths)
    assert members(made) == paths
    assert all(fieldset.has(made, p) for p in paths)
    assert not fieldset.has(made, ("f:zzz",))


@few
@given(PATHS, PATHS)
def test_union_difference_and_intersection_are_those_of_path_sets(
    a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]
) -> None:
    left, right = tree(a), tree(b)
    assert members(fieldset.union(left, right)) == a | b
    assert members(fieldset.difference(left, right)) == a - b
    assert members(fieldset.intersection(left, right)) == a & b


@few
@given(PATHS, PATHS)
def test_without_removes_whole_branches(a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]) -> None:
    below = {p for p in a if any(p[: len(q)] == q for q in b)}
    assert members(fieldset.without(tree(a), tree(b))) == a - below


@few
@given(PATHS, PATHS)
def test_no_operation_writes_to_its_arguments(
    a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]
) -> None:
    left, right = tree(a), tree(b)
    for operation in (fieldset.union, fieldset.difference, fieldset.intersection, fieldset.without):
        operation(left, right)
        assert (members(left), members(right)) == (a, b)
    assert not LEAF


@few
@given(PATHS, PATHS)
def test_a_difference_that_takes_nothing_is_the_very_same_set(
    a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]
) -> None:
    left = tree(a)
    assert fieldset.difference(left, tree(b - a)) is left


@few
@given(PATHS)
def test_fields_v1_reads_back_as_it_was_written(paths: frozenset[tuple[str, ...]]) -> None:
    written = tree(paths)
    assert fieldset.parsed(written) == written


def test_a_set_from_a_client_is_brought_into_canonical_form() -> None:
    sent = {"f:a": {".": {}}, 'k:{"port": 1, "name": "x"}': {}, "z:future": {}}
    assert fieldset.parsed(sent) == {"f:a": {}, 'k:{"name":"x","port":1}': {}}


@pytest.mark.parametrize("bad", [[], "x", {"f": {}}, {"k:{": {}}, {"k:[]": {}}, {"i:x": {}}, {"f:a": 1}])
def test_a_malformed_set_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        fieldset.parsed(bad)


def test_paths_read_as_in_messages_and_come_in_kubernetes_order() -> None:
    fields = {
        "f:spec": {
            "f:b": {},
            "f:a": {"f:z": {}},
            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {SELF: {}, "f:name": {}}},
        },
        "f:metadata": {"f:finalizers": {'v:"x/y"': {}}},
    }
    assert [fieldset.text(p) for p in fieldset.paths(fields)] == [
        '.metadata.finalizers[="x/y"]',
        ".spec.b",
        ".spec.a.z",
        '.spec.ports[containerPort=80,protocol="TCP"]',
        '.spec.ports[containerPort=80,protocol="TCP"].name',
    ]


@few
@given(PATHS, st.randoms())
def test_keys_come_in_kubernetes_order_however_a_set_was_made(
    paths: frozenset[tuple[str, ...]], rng: Any
) -> None:
    made = tree(paths)
    shuffled = _shuffled(made, rng)
    text = json.dumps(fieldset.in_order(shuffled))
    assert text == json.dumps(fieldset.in_order(made)) == json.dumps(made)  # `union` keeps order, too
    assert fieldset.in_order(shuffled) == shuffled


def _shuffled(node: dict[str, Any], rng: Any) -> dict[str, Any]:
    steps = list(node)
    rng.shuffle(steps)
    return {step: _shuffled(node[step], rng) for step in steps}


def test_the_node_itself_is_first_then_fields_then_items_by_their_keys_and_values() -> None:
    steps = [
        "i:2",
        "i:10",
        "v:true",
        'v:"b"',
        "v:10",
        "v:9",
        'k:{"port":80}',
        'k:{"port":9}',
        "f:b",
        "f:a",
        ".",
    ]
    expected = [
        ".",
        "f:a",
        "f:b",
        'k:{"port":9}',
        'k:{"port":80}',
        "v:9",
        "v:10",
        'v:"b"',
        "v:true",
        "i:2",
        "i:10",
    ]
    assert list(fieldset.in_order(dict.fromkeys(steps, LEAF))) == expected


def test_a_set_in_order_is_not_copied() -> None:
    fields = {"f:a": {SELF: LEAF, "f:b": LEAF}, "f:c": LEAF}
    assert fieldset.in_order(fields) is fields
