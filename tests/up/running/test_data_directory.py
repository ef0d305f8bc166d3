"""The data directory: private, ours, and never someone else's by accident."""

from __future__ import annotations

import os
import stat
import time
import urllib.error
from pathlib import Path

import pytest

from longshore.up import files, secrets
from support.longshore_process import RunningLongshore, longshore_up


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_directory_is_for_its_owner_alone(tmp_path: Path) -> None:
    made = files.prepare_data_dir(tmp_path / "a" / "b")
    assert mode(made) == 0o700


def test_an_empty_directory_open_to_others_is_closed(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o755)
    (tmp_path / "d").chmod(0o755)
    assert mode(files.prepare_data_dir(tmp_path / "d")) == 0o700


def test_a_directory_of_ours_that_was_opened_is_closed_again(tmp_path: Path) -> None:
    made = files.prepare_data_dir(tmp_path / "d")
    (made / "pki").mkdir()
    made.chmod(0o777)
    assert mode(files.prepare_data_dir(made)) == 0o700


def test_a_directory_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(files.UnfitDirectory, match=r"holds other files and is open.*0755.*--data-dir"):
        files.prepare_data_dir(tmp_path)
    assert mode(tmp_path) == 0o755


def test_a_file_in_its_place_is_an_error_with_the_flag_to_pass(tmp_path: Path) -> None:
    (tmp_path / "d").touch()
    with pytest.raises(files.UnfitDirectory, match=r"is a file; pass another one with --data-dir"):
        files.prepare_data_dir(tmp_path / "d")


def test_longshore_home_names_the_default_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGSHORE_HOME", "/srv/longshore")
    assert files.default_data_dir() == Path("/srv/longshore")
    monkeypatch.delenv("LONGSHORE_HOME")
    assert files.default_data_dir() == Path.home() / ".local/share/longshore"


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGSHORE_HOME", "~nobody-has-this-name/longshore")
    with pytest.raises(FileNotFoundError, match="set LONGSHORE_HOME to a directory, or pass --data-dir"):
        files.default_data_dir()


def test_a_private_file_is_replaced_whole_and_keeps_no_rubbish_beside_it(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        files.write_private(tmp_path / "f", b"one")
        files.write_private(tmp_path / "f", b"two")
    finally:
        os.umask(old)
    assert (tmp_path / "f").read_bytes() == b"two"
    assert mode(tmp_path / "f") == 0o600
    assert os.listdir(tmp_path) == ["f"]


def test_tokens_survive_a_restart_and_are_not_printed(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    first, second = secrets.ensure(tmp_path), secrets.ensure(tmp_path)
    assert first == second
    assert len(first.signing_key) == 32
    assert first.admin_token not in repr(first)
    assert mode(tmp_path / "token") == 0o600


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("token", b""),
        ("token", b"\n"),
        ("token", b"\xff\n"),
        ("pki/token.key", b""),
        ("pki/token.key", b"00ff\n"),
    ],
)
def test_a_secret_that_anybody_could_guess_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(files.UnfitDirectory, match=f"{name} does not hold .*; remove it"):
        secrets.ensure(tmp_path)
    assert (tmp_path / name).read_bytes() == content


def test_a_longshore_whose_journal_is_removed_is_not_ready_but_alive() -> None:
    with longshore_up() as running:
        assert readiness(running) == (200, "ok")
        journal = running.kubeconfig.parent / "journal.db"
        journal.rename(journal.with_name("elsewhere"))
        until = time.monotonic() + 30
        while (found := readiness(running))[0] == 200:
            assert time.monotonic() < until
        assert found[0] == 500
        assert "[-]journal failed: reason withheld" in found[1]
        assert running.text("/livez") == "ok", "a restart would lose what it knows"
        journal.with_name("elsewhere").rename(journal)
        while readiness(running)[0] != 200:
            assert time.monotonic() < until


def readiness(running: RunningLongshore) -> tuple[int, str]:
    try:
        return 200, running.text("/readyz")
    except urllib.error.HTTPError as err:
        with err:
            return err.code, err.read().decode()
