"""The files that containers must not see: the data directory, and copies of its secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from longshore.up import secrets
from longshore.up.secrets import SecretPlaces


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "token").write_text("the-token\n")
    return directory


def test_a_kubeconfig_counts_while_the_token_is_in_it(data: Path, tmp_path: Path) -> None:
    places = SecretPlaces(data)
    usual, other = tmp_path / "home" / ".kube" / "config", tmp_path / "other"
    assert list(places) == [data]
    usual.parent.mkdir(parents=True)
    usual.write_text("users: [{token: of another cluster}]")
    other.write_text("token: the-token")
    assert list(places) == [data]
    secrets.note_kubeconfig(data, other)
    secrets.note_kubeconfig(data, other)
    assert list(places) == [data, other]
    usual.write_text("users: [{token: the-token}]")
    other.write_text("removed")
    assert list(places) == [data, usual]


def test_certificates_that_several_longshores_share_count(data: Path, tmp_path: Path) -> None:
    assert list(SecretPlaces(data, tmp_path / "run-pki")) == [data, tmp_path / "run-pki"]


def test_the_kubeconfigs_that_a_variable_names_count_too(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").write_text("the-token")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/missing:{tmp_path}/one")
    assert list(SecretPlaces(data)) == [data, tmp_path / "one"]


def test_a_backup_counts_as_long_as_it_is_there(data: Path, tmp_path: Path) -> None:
    places = SecretPlaces(data)
    file = tmp_path / "a b.tar.gz"
    secrets.note_backup(data, file)
    assert list(places) == [data]
    file.write_bytes(b"")
    assert list(places) == [data, file]
    file.unlink()
    assert list(places) == [data]
