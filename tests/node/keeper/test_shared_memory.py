"""The keeper's directory in shared memory, where everybody may make directories."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from longshore.node.keeper.termination_files import Messages


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    path = tmp_path / "shm"
    path.mkdir()
    return path


def planted(shared: Path, name: str, victim: Path, mode: int) -> None:
    """The keeper's directory as somebody else makes it, with links to a file of the keeper's user."""
    fake = shared / name
    fake.mkdir()
    for number in range(1, 20):
        (fake / f"{os.getpid()}-{number}").symlink_to(victim)
    fake.chmod(mode)
    if os.geteuid() == 0:
        os.chown(fake, 65534, 65534)


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o700] if os.geteuid() == 0 else [0o755, 0o777])
def test_a_directory_that_others_made_or_can_enter_is_not_used(
    shared: Path, tmp_path: Path, mode: int
) -> None:
    name = _name_of(tmp_path, shared)
    victim = tmp_path / "victim"
    victim.write_text("secret")
    planted(shared, name, victim, mode)
    messages = Messages(str(tmp_path), str(shared))
    wanted = str(tmp_path / "pod" / "message")
    assert messages.place(wanted) == wanted
    assert victim.read_text() == "secret"


def test_a_directory_that_was_replaced_while_it_was_used_is_not_followed(
    shared: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("secret")
    name = _name_of(tmp_path, shared)
    messages = Messages(str(tmp_path), str(shared))
    shutil.rmtree(shared / name)
    planted(shared, name, victim, 0o755)
    wanted = str(tmp_path / "pod" / "message")
    file = messages.place(wanted)
    messages.collect(file, wanted)
    assert file == wanted
    assert victim.read_text() == "secret"


def test_a_directory_that_was_removed_is_made_again_for_its_user_alone(shared: Path, tmp_path: Path) -> None:
    name = _name_of(tmp_path, shared)
    messages = Messages(str(tmp_path), str(shared))
    shutil.rmtree(shared / name)
    file = Path(messages.place(str(tmp_path / "message")))
    assert file.parent == shared / name
    assert file.parent.stat().st_mode & 0o7777 == 0o700


def test_a_link_in_place_of_a_message_is_neither_read_nor_emptied(shared: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("secret")
    messages = Messages(str(tmp_path), str(shared))
    wanted = tmp_path / "message"
    file = Path(messages.place(str(wanted)))
    file.unlink()
    file.symlink_to(victim)
    assert not messages.collect(str(file), str(wanted))
    assert victim.read_text() == "secret"
    assert not wanted.exists()


def _name_of(directory: Path, shared: Path) -> str:
    """The name of the keeper's directory, which it removes when it leaves."""
    messages = Messages(str(directory), str(shared))
    (found,) = os.listdir(shared)
    messages.close()
    return found
