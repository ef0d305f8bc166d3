"""JSON patch as Kubernetes' library has it."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.patch import json_patch

DOC = {"a": {"b": [1, 2, 3], "c": None}, "n": 1, "t": True}


def run(*operations: Any) -> Any:
    return json_patch.patched(DOC, list(operations))


@pytest.mark.parametrize(
    ("operation", "part", "value"),
    [
        ({"op": "add", "path": "/a/b/-", "value": 4}, "b", [1, 2, 3, 4]),
        ({"op": "add", "path": "/a/b/0", "value": 0}, "b", [0, 1, 2, 3]),
        ({"op": "add", "path": "/a/b/3", "value": 4}, "b", [1, 2, 3, 4]),
        ({"op": "add", "path": "/a/b/-1", "value": 4}, "b", [1, 2, 3, 4]),
        ({"op": "add", "path": "/a/b/-4", "value": 0}, "b", [0, 1, 2, 3]),
        ({"op": "remove", "path": "/a/b/-1"}, "b", [1, 2]),
        ({"op": "replace", "path": "/a/b/-3", "value": 9}, "b", [9, 2, 3]),
        ({"op": "replace", "path": "/a/new", "value": 1}, "new", 1),
        ({"op": "add", "path": "/a/new"}, "new", None),
        ({"op": "add", "path": "x/a/new", "value": 1}, "new", 1),
        ({"op": "add", "path": "/a/x~1y~0z", "value": 1}, "x/y~z", 1),
        ({"op": "copy", "from": "/a/missing", "path": "/a/new"}, "new", None),
        ({"op": "move", "from": "/a/b/0", "path": "/a/b/-"}, "b", [2, 3, 1]),
    ],
)
def test_an_operation_changes_its_place(operation: Any, part: str, value: Any) -> None:
    assert run(operation)["a"][part] == value


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a/c", "value": None},
        {"op": "test", "path": "/a/missing"},
        {"op": "test", "path": "", "value": DOC},
        {"op": "test", "path": "/a/b", "value": [1, 2, 3]},
    ],
)
def test_a_test_that_holds_changes_nothing(operation: Any) -> None:
    assert run(operation) == DOC


@pytest.mark.parametrize(
    "operation",
    [
        None,
        {"op": "frob", "path": "/a"},
        {"op": "add", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "/a/c/x", "value": 1},
        {"op": "add", "path": "/n/x", "value": 1},
        {"op": "add", "path": "/a/b/4", "value": 1},
        {"op": "add", "path": "/a/b/-5", "value": 1},
        {"op": "add", "path": "/a/b/1.0", "value": 1},
        {"op": "add", "path": "/a/b/1_0", "value": 1},
        {"op": "remove", "path": "/a/missing"},
        {"op": "remove", "path": "/a/b/-"},
        {"op": "replace", "path": "/a/b/3", "value": 1},
        {"op": "replace", "path": "", "value": 1},
        {"op": "move", "from": "/a/missing", "path": "/x"},
        {"op": "copy", "path": "/x"},
        {"op": "test", "path": "/n", "value": 1.0},
        {"op": "test", "path": "/t", "value": 1},
        {"op": "test", "path": "/n", "value": "1"},
        {"op": "test", "path": "/n"},
        {"op": "test", "path": "/a/b/7", "value": None},
    ],
)
def test_what_does_not_fit_is_refused(operation: Any) -> None:
    with pytest.raises(json_patch.DoesNotApply):
        run(operation)


def test_the_document_given_is_never_changed() -> None:
    before = repr(DOC)
    run({"op": "remove", "path": "/a/b/0"}, {"op": "copy", "from": "/a", "path": "/copy"})
    assert repr(DOC) == before


def test_copied_and_added_values_are_apart_from_their_source() -> None:
    value = {"x": 1}
    got = run(
        {"op": "add", "path": "/one", "value": value},
        {"op": "copy", "from": "/one", "path": "/two"},
        {"op": "replace", "path": "/one/x", "value": 2},
    )
    assert (got["one"], got["two"], value) == ({"x": 2}, {"x": 1}, {"x": 1})


def test_copies_cannot_blow_an_object_up() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/{i}"} for i in range(40)]
    with pytest.raises(json_patch.DoesNotApply):
        run(*doubling)


def test_the_whole_document_can_be_replaced() -> None:
    assert run({"op": "replace", "path": "", "value": {"z": 1}}) == {"z": 1}
