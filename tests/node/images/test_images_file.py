"""The file of images is followed, and a bad one changes nothing."""

from __future__ import annotations

import logging
import shutil
import subprocess
from pathlib import Path

import pytest

from longshore.node.images import images_file
from longshore.node.images.applets import AppletDirectories
from longshore.node.images.image_table import BadImages, ImageEntry
from longshore.node.images.images_file import ImagesFile

NGINX = ImageEntry(command=("nginx", "-g", "daemon off;"))


def replace(file: Path, text: str) -> None:
    beside = file.with_name("new")
    beside.write_text(text)
    beside.replace(file)


def test_a_change_is_read_at_the_next_look(tmp_path: Path) -> None:
    file = tmp_path / "images.yaml"
    images = ImagesFile(file)
    assert images.find("nginx") is None
    assert not images.look()
    replace(file, '"nginx:*": [nginx]\n')
    assert images.look()
    found = images.find("nginx")
    assert found is not None
    assert found.entry == ImageEntry(command=("nginx",))
    file.unlink()
    assert images.look()
    assert images.find("nginx") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"nginx:*": 5\n', '"nginx:*": it must be a list of words'),
        ('"nginx:*": [\n', "yaml: line "),
        ("nginx: [a]\nnginx: [b]\n", 'key "nginx" already set in map'),
        (b"\xff\xfe\x00".decode("latin-1"), "yaml: "),
    ],
)
def test_a_bad_file_keeps_the_last_good_one_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, said: str
) -> None:
    file = tmp_path / "images.yaml"
    replace(file, '"nginx:*": [nginx]\n')
    images = ImagesFile(file)
    replace(file, text)
    with caplog.at_level(logging.WARNING):
        images.look()
    assert images.find("nginx") is not None
    assert images.problem.startswith(f"{file}: ")
    assert said in images.problem
    assert f"the image table is unchanged: {images.problem}" in caplog.text
    replace(file, "{}\n")
    images.look()
    assert (images.problem, images.find("nginx")) == ("", None)


def test_a_file_that_is_bad_from_the_beginning_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "images.yaml"
    file.write_text("[]\n")
    with pytest.raises(BadImages, match=r"images\.yaml: it must be a mapping"):
        ImagesFile(file)
    with pytest.raises(BadImages, match="Is a directory"):
        ImagesFile(tmp_path)


def test_an_entry_is_added_at_the_end_and_replaces_its_predecessor() -> None:
    text = '# mine\n"a:*": [x]\n\n# of b\nb:\n  command: [w]\n\n# of c\nc: [z]'
    assert images_file.added(text, "nginx:*", NGINX) == text + '\n"nginx:*": ["nginx", "-g", "daemon off;"]\n'
    again = images_file.added(text, "b", ImageEntry(path=("/opt/b",)))
    assert again == '# mine\n"a:*": [x]\n\n# of b\n\n# of c\nc: [z]\n"b": {"path": ["/opt/b"]}\n'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", ""),
        ("# nothing\n", "# nothing\n"),
        ("b: [x]\n", "b: [x]\n"),
        ("a: [x]\n", ""),
        ("a:\n- x\n- w\n# of b\nb: [x]\n", "# of b\nb: [x]\n"),
        ("{a: [x], b: {path: /opt}}\n", '"b": {"path": ["/opt"]}\n'),
    ],
)
def test_an_entry_is_removed_and_nothing_else(text: str, left: str) -> None:
    assert images_file.removed(text, "a") == left
    images_file.parsed(left.encode())


def test_applets_are_links_that_are_made_once(tmp_path: Path) -> None:
    program = tmp_path / "manybox"
    program.write_text('#!/bin/sh\n[ "$1" = --list ] && exec printf "sh\\nhello\\n../no\\n"\nbasename "$0"\n')
    program.chmod(0o755)
    made = AppletDirectories(tmp_path / "applets")
    found = made.of(str(program))
    assert found is not None
    assert found.has_shell
    said = subprocess.run([f"{found.directory}/hello"], capture_output=True, text=True, check=True).stdout
    assert said == "hello\n"
    assert {path.name for path in Path(found.directory).iterdir()} == {"sh", "hello"}
    assert made.of(str(program)) is found
    shutil.rmtree(found.directory)
    assert made.of(str(program)) == found
    assert Path(found.directory, "hello").is_symlink(), "a directory that somebody removed is made again"
    program.unlink()
    assert made.of(str(program)) == found
    assert AppletDirectories(tmp_path / "other").of(str(program)) is None
