"""JSON merge patch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.api.patch import merge_patch

SCALARS = st.sampled_from([1, "a", True, [1], ["a", {"b": 1}]])
OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from("abc"), SCALARS, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner | SCALARS, max_size=3),
    max_leaves=8,
)


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The merge patch that leads from one object to another."""
    out: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            out[key] = difference(before, value)
        elif key not in old or before != value or type(before) is not type(value):
            out[key] = value
    return out


@settings(max_examples=60, deadline=None)
@given(OBJECTS, OBJECTS)
def test_the_patch_of_a_difference_gives_the_target(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = repr(old)
    assert merge_patch.merged(old, difference(old, new)) == new
    assert repr(old) == before


@pytest.mark.parametrize(
    ("original", "patch", "want"),
    [
        ({"a": 1}, {"a": None, "b": None}, {}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ({"a": [1]}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"b": None, "c": {"d": None}}}, {"a": {"c": {}}}),
        ({"a": {"b": 1}}, {"a": 1}, {"a": 1}),
        ({}, {"a": [None, {"x": None}]}, {"a": [{}]}),
    ],
)
def test_merging_follows_the_rules(original: Any, patch: Any, want: Any) -> None:
    assert merge_patch.merged(original, patch) == want
