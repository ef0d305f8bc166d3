"""Looks of volumes: put back in an order in which no link leads out of the room."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from longshore.up import volume_looks
from longshore.up.volume_looks import Look

OUT = "../../outside"


def look(kind: int, target: str = "") -> Look:
    return Look(kind | 0o751, os.geteuid(), os.getegid(), target)


@pytest.mark.parametrize(
    ("inside", "files"),
    [
        (look(stat.S_IFLNK, "x"), []),
        (look(stat.S_IFDIR), []),
        (look(stat.S_IFREG), []),
        (look(stat.S_IFREG), ["volumes/way/thing"]),
    ],
)
def test_nothing_is_reached_through_a_link_that_a_pod_made_during_the_backup(
    tmp_path: Path, inside: Look, files: list[str]
) -> None:
    outside, room = tmp_path / "outside", tmp_path / "room"
    outside.mkdir()
    (outside / "thing").touch(mode=0o600)
    (room / "volumes").mkdir(parents=True)
    for name in files:
        (room / name).parent.mkdir()
        (room / name).touch(mode=0o600)
    looks = {"volumes/way": look(stat.S_IFLNK, OUT), "volumes/way/thing": inside}
    volume_looks.give(room, files, looks)
    assert os.listdir(outside) == ["thing"]
    assert stat.S_IMODE((outside / "thing").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", [stat.S_IFDIR, stat.S_IFLNK])
def test_a_file_that_took_the_place_of_something_else_stays(tmp_path: Path, kind: int) -> None:
    (tmp_path / "thing").write_text("content")
    looks = {"thing": look(kind, "target"), "thing/below": look(kind, "target")}
    volume_looks.give(tmp_path, ["thing"], looks)
    assert (tmp_path / "thing").read_text() == "content"
    assert os.listdir(tmp_path) == ["thing"]
