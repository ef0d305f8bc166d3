"""Looks of volumes: put back in an order in which no link leads out of the room."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from longshore.up import file_modes
from longshore.up.file_modes import FileMode

OUT = "../../outside"


def mode(kind: int, target: str = "") -> FileMode:
    return FileMode(kind | 0o751, os.geteuid(), os.getegid(), target)


@pytest.mark.parametrize(
    ("inside", "files"),
    [
        (mode(stat.S_IFLNK, "x"), []),
        (mode(stat.S_IFDIR), []),
        (mode(stat.S_IFREG), []),
        (mode(stat.S_IFREG), ["volumes/way/thing"]),
    ],
)
def test_nothing_is_reached_through_a_link_that_a_pod_made_during_the_backup(
    tmp_path: Path, inside: FileMode, files: list[str]
) -> None:
    outside, room = tmp_path / "outside", tmp_path / "room"
    outside.mkdir()
    (outside / "thing").touch(mode=0o600)
    (room / "volumes").mkdir(parents=True)
    for name in files:
        (room / name).parent.mkdir()
        (room / name).touch(mode=0o600)
    modes = {"volumes/way": mode(stat.S_IFLNK, OUT), "volumes/way/thing": inside}
    file_modes.give(room, files, modes)
    assert os.listdir(outside) == ["thing"]
    assert stat.S_IMODE((outside / "thing").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", [stat.S_IFDIR, stat.S_IFLNK])
def test_a_file_that_took_the_place_of_something_else_stays(tmp_path: Path, kind: int) -> None:
    (tmp_path / "thing").write_text("content")
    modes = {"thing": mode(kind, "target"), "thing/below": mode(kind, "target")}
    file_modes.give(tmp_path, ["thing"], modes)
    assert (tmp_path / "thing").read_text() == "content"
    assert os.listdir(tmp_path) == ["thing"]
