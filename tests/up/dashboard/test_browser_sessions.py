"""Sessions of browsers: how long they last, and that a restart does not end them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from longshore.apiserver.access.browser_sessions import CODE_SECONDS, SESSION_SECONDS, BrowserSessions
from longshore.apiserver.access.tokens import Tokens
from longshore.apiserver.request.call import User
from longshore.store.store import Store
from longshore.up.running import SessionsFile

JANE = User("jane", ("system:authenticated",))


class World:
    """Sessions on a file, a clock that is set by hand, and secrets that can be told apart."""

    def __init__(self, path: Path) -> None:
        self.now, self.made, self.file = 1000.0, 0, SessionsFile(path)
        self.start()

    def start(self, *, token: str = "a", key: bytes = b"k") -> None:
        """Begins anew with the same file, as a longshore that starts again."""
        tokens = Tokens(Store.open(None), admin_token=token, key=key, clock=lambda: self.now)
        self.sessions = BrowserSessions(self.file, tokens, clock=lambda: self.now, secret=self.secret)

    def secret(self) -> str:
        self.made += 1
        return f"secret-{self.made}"

    def login(self, user: User = JANE) -> str:
        secret = self.sessions.begin(self.sessions.code_for(user))
        assert secret is not None
        return secret


def test_a_code_is_good_once_and_for_a_minute(tmp_path: Path) -> None:
    world = World(tmp_path / "sessions")
    code, late = world.sessions.code_for(JANE), world.sessions.code_for(JANE)
    assert world.sessions.begin(code) is not None
    assert world.sessions.begin(code) is None
    world.now += CODE_SECONDS
    assert world.sessions.begin(late) is None
    assert world.sessions.begin("made up") is None


def test_a_session_outlives_a_restart_and_ends_after_its_hours(tmp_path: Path) -> None:
    world = World(tmp_path / "sessions")
    secret = world.login()
    world.start()
    assert world.sessions.user_of(secret) == JANE
    world.now += SESSION_SECONDS
    assert world.sessions.user_of(secret) is None


@pytest.mark.parametrize("fresh", [{"token": "another"}, {"key": b"another"}])
def test_a_session_ends_with_the_secrets_of_the_server(tmp_path: Path, fresh: dict[str, Any]) -> None:
    world = World(tmp_path / "sessions")
    secret = world.login()
    world.start(**fresh)
    assert world.sessions.user_of(secret) is None


def test_a_logout_lasts_over_a_restart(tmp_path: Path) -> None:
    world = World(tmp_path / "sessions")
    left, stays = world.login(), world.login()
    world.sessions.end(left)
    world.start()
    assert (world.sessions.user_of(left), world.sessions.user_of(stays)) == (None, JANE)


def test_on_a_full_disk_people_log_in_and_out_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "sessions")
    before = world.login()
    monkeypatch.setattr(SessionsFile, "write", full_disk)
    secret = world.login()
    assert world.sessions.user_of(secret) == JANE
    for each in (before, secret):
        world.sessions.end(each)
        assert world.sessions.user_of(each) is None


def full_disk(file: SessionsFile, data: bytes) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_file_is_private_and_does_not_hold_the_secrets(tmp_path: Path) -> None:
    world = World(tmp_path / "sessions")
    secret = world.login()
    assert stat.S_IMODE((tmp_path / "sessions").stat().st_mode) == 0o600
    assert secret not in (tmp_path / "sessions").read_text()


def test_a_damaged_file_only_logs_everybody_out(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text('{"half')
    world = World(tmp_path / "sessions")
    assert world.sessions.user_of("secret-0") is None
    assert world.sessions.user_of(world.login()) == JANE


def test_only_so_many_sessions_are_kept_and_the_oldest_goes_first(tmp_path: Path) -> None:
    world = World(tmp_path / "sessions")
    first, second = world.login(), world.login()
    for _ in range(255):
        world.login()
    assert (world.sessions.user_of(first), world.sessions.user_of(second)) == (None, JANE)


def test_logins_of_one_user_do_not_end_those_of_others(tmp_path: Path) -> None:
    world = World(tmp_path / "sessions")
    other = User("joe", ("system:authenticated",))
    code, secret = world.sessions.code_for(other), world.login(other)
    for _ in range(300):
        world.login()
        world.sessions.code_for(JANE)
    assert world.sessions.user_of(secret) == other
    assert world.sessions.begin(code) is not None


def test_the_service_accounts_of_one_namespace_share_their_logins(tmp_path: Path) -> None:
    world = World(tmp_path / "sessions")
    secret = world.login()
    for number in range(300):
        world.login(User(f"system:serviceaccount:team:robot-{number}", ("system:authenticated",)))
    assert world.sessions.user_of(secret) == JANE
