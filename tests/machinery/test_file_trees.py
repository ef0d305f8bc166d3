"""Directory trees that pods leave behind: of any depth, with links and modes of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from longshore.machinery import file_trees
from longshore.node.eviction import usage
from longshore.node.keeper.walls import fork_server
from longshore.node.preparing.volumes import making

pytestmark = pytest.mark.long

DEPTH = 1_500


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A file of 8 KiB at the bottom of many directories, and a link out of them at each step."""
    top = tmp_path / "top"
    top.mkdir()
    (tmp_path / "outside").write_text("stays")
    handle = os.open(top, os.O_RDONLY)
    for _ in range(DEPTH):
        os.symlink(tmp_path / "outside", "link", dir_fd=handle)
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    file = os.open("bottom", os.O_WRONLY | os.O_CREAT, dir_fd=handle)
    os.write(file, b"x" * 8192)
    os.close(file)
    os.close(handle)
    yield top
    file_trees.remove_tree(top)  # pytest itself could not


def test_directories_nested_deeper_than_a_stack_are_removed(deep: Path) -> None:
    file_trees.remove_tree(deep)
    assert not deep.exists()
    assert (deep.parent / "outside").read_text() == "stays"


def test_the_tmp_of_a_container_that_nested_directories_is_removed(deep: Path) -> None:
    (deep / "1").mkdir()
    fork_server._remove(str(deep))
    assert not deep.exists()
    assert (deep.parent / "outside").read_text() == "stays"


def test_files_below_nested_directories_are_counted(deep: Path) -> None:
    assert usage(deep) >= 8192


def test_files_below_nested_directories_are_given_to_the_group(deep: Path) -> None:
    making.give_to_group(deep, os.getegid())
    assert deep.stat().st_mode & 0o2770 == 0o2770


def test_entries_are_listed_as_deep_as_paths_go(deep: Path) -> None:
    found = [entry.name for entry in file_trees.paths_below(deep)]
    assert found[:3] == ["d", "link", "d"]
    assert len(found) > 1000


def test_a_directory_that_its_owner_may_not_change_is_removed(tmp_path: Path) -> None:
    closed = tmp_path / "top" / "closed" / "inner"
    closed.mkdir(parents=True)
    (closed / "file").touch()
    closed.chmod(0)
    closed.parent.chmod(0o500)
    for _ in file_trees.deepest_first(tmp_path / "top", force=True):
        pass
    file_trees.remove_tree(tmp_path / "top")
    assert not (tmp_path / "top").exists()
