"""The certificate of clusters for tests is made once for a user, and kept where only the user looks."""

from __future__ import annotations

import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from longshore.testing import identity


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    identity._found.cache_clear()
    yield tmp_path
    identity._found.cache_clear()


def next_process() -> identity.Identity:
    identity._found.cache_clear()
    return identity.shared()


def test_the_next_process_uses_the_same_certificate(caches: Path) -> None:
    first = identity.shared()
    assert next_process().ca == first.ca
    assert b"BEGIN CERTIFICATE" in first.ca


def test_only_the_user_can_read_it_and_nobody_can_sign_with_it(caches: Path) -> None:
    identity.shared()
    (file,) = (caches / "longshore").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes().count(b"PRIVATE KEY") == 2, "begin and end of the server's key alone"


def test_half_a_file_is_made_anew(caches: Path) -> None:
    identity.shared()
    (file,) = (caches / "longshore").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    in_between = next_process()
    assert next_process().ca != in_between.ca
    assert next_process().ca == identity.shared().ca


def test_a_directory_that_others_see_is_not_used(caches: Path) -> None:
    (caches / "longshore").mkdir(mode=0o755)
    (caches / "longshore").chmod(0o755)
    assert isinstance(identity.shared().tls, ssl.SSLContext)
    assert not [*(caches / "longshore").iterdir()]


def test_without_a_place_to_keep_it_each_process_makes_its_own(
    caches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (caches / "a-file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches / "a-file"))
    first = identity.shared()
    assert next_process().ca != first.ca
