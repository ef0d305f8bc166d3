"""A patch that is found between two documents makes the one of the other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.api import types
from longshore.api.patch import json_patch

pytestmark = pytest.mark.long

LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "b"])
KEYS = st.sampled_from(["a", "b", "a/b", "~", "~1", "0", "-"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)


@given(DOCUMENTS, DOCUMENTS)
def test_the_patch_makes_the_one_of_the_other(old: Any, new: Any) -> None:
    before = types.copy_of(old)
    operations = json_patch.difference(old, new)
    assert types.encode(_sorted(json_patch.patched(old, operations))) == types.encode(_sorted(new))
    assert old == before


@given(DOCUMENTS)
def test_equal_documents_have_no_patch(document: Any) -> None:
    assert json_patch.difference(document, types.copy_of(document)) == []


def test_only_what_differs_is_named() -> None:
    old = {"spec": {"tasks": [{"name": "w", "replicas": 2}], "queue": "q"}}
    new = {"spec": {"tasks": [{"name": "w", "replicas": 2, "maxRetry": 3}], "queue": "default"}}
    assert json_patch.difference(old, new) == [
        {"op": "add", "path": "/spec/tasks/0/maxRetry", "value": 3},
        {"op": "replace", "path": "/spec/queue", "value": "default"},
    ]


def _sorted(value: Any) -> Any:
    """With keys in one order, and True apart from 1, which Python takes for equal."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
