"""LONGSHORE_ITEM: one line of a file for each completion index."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from longshore.api.facts import own_names
from longshore.node.preparing.environment import items
from longshore.node.preparing.types import CannotPrepare


def pod(path: Path | None, index: int | None = 0) -> dict[str, Any]:
    annotations = {own_names.ITEMS_FILE: str(path)} if path else {}
    if index is not None:
        annotations["batch.kubernetes.io/job-completion-index"] = str(index)
    return {"metadata": {"name": "x", "annotations": annotations}}


def item(path: Path, index: int | None) -> str:
    return items.added(pod(path, index), {"A": "1"}, path.parent)["LONGSHORE_ITEM"]


def test_each_index_gets_its_line(tmp_path: Path) -> None:
    file = tmp_path / "items"
    file.write_bytes("first\n\nthird ümläut\nlast without end".encode())
    assert [item(file, index) for index in range(4)] == ["first", "", "third ümläut", "last without end"]
    assert item(file, None) == "first"


def test_other_pods_get_none(tmp_path: Path) -> None:
    variables = {"A": "1"}
    assert items.added(pod(None), variables, tmp_path) is variables
    assert items.added({"metadata": {"name": "x"}}, variables, tmp_path) is variables


def test_a_pod_gets_no_line_of_a_file_that_no_run_has_written(tmp_path: Path) -> None:
    kept, secret = tmp_path / "items", tmp_path / "token"
    kept.mkdir()
    secret.write_text("the-token\n")
    (kept / "link").symlink_to(secret)
    for path in (secret, kept / "link", kept / ".." / "token"):
        with pytest.raises(CannotPrepare, match="longshore run has not written this file"):
            items.added(pod(path), {}, kept)
    with pytest.raises(CannotPrepare, match="longshore run has not written this file"):
        items.added(pod(secret), {}, None)


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "items"
    file.write_text("old\n")
    assert item(file, 0) == "old"
    file.write_text("newer\n")
    assert item(file, 0) == "newer"


@pytest.mark.parametrize(("content", "index"), [("a\n", 1), ("", 0), (None, 0)])
def test_an_index_without_a_line_says_so(tmp_path: Path, content: str | None, index: int) -> None:
    file = tmp_path / "items"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CannotPrepare, match=f"no item in {file}"):
        item(file, index)


def test_a_hundred_thousand_lines_are_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / "items"
    file.write_text("".join(f"item {number}\n" for number in range(100_000)))
    assert item(file, 99_999) == "item 99999"
    before = os.times().user
    for index in range(0, 100_000, 100):
        assert item(file, index) == f"item {index}"
    assert os.times().user - before < 0.5
