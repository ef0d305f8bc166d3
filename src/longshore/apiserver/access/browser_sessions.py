"""Sessions of browsers that use the dashboard: a one-time code becomes a session, which has the rights of
whoever asked for the code.

A code is good once and for a minute, and lives in memory. A session is kept, so that a browser outlives a
restart of the server; only the digest of its secret is, so that whoever reads the shelf cannot use it. A
session ends after some hours, at logout, with the service account it belongs to, and with the server's own
secrets: whoever replaces those wants every older credential void.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from longshore.apiserver.access.tokens import ACCOUNT_PREFIX
from longshore.apiserver.request.call import User

if TYPE_CHECKING:
    from longshore.apiserver.access.tokens import Tokens

log = logging.getLogger(__name__)

CODE_SECONDS: Final = 60
SESSION_SECONDS: Final = 8 * 3600
_MAX_KEPT: Final = 256
"""Codes and sessions at one time, each. One more, and the oldest of whoever has most of them goes."""


class Shelf(Protocol):
    """The place where sessions outlive the process."""

    def read(self) -> bytes:
        """Empty where nothing was written yet."""

    def write(self, data: bytes) -> None:
        """Replaces all, durably and in one step, or raises OSError."""


class _Kept(msgspec.Struct, frozen=True):
    user: User
    until: float
    """Seconds since 1970."""


_decode: Final = msgspec.json.Decoder(dict[str, _Kept]).decode


class BrowserSessions:
    """`secret` makes strings that nobody can guess."""

    def __init__(
        self, shelf: Shelf, tokens: Tokens, *, clock: Callable[[], float], secret: Callable[[], str]
    ) -> None:
        self._shelf, self._tokens, self._clock, self._secret = shelf, tokens, clock, secret
        self._codes: dict[str, _Kept] = {}
        self._read: dict[str, _Kept] | None = None
        """Sessions by the digest of their secret; None until somebody asks."""

    def code_for(self, user: User) -> str:
        """A code with which a browser gets a session of this user."""
        code = self._secret()
        _add(self._codes, self._tokens.sealed(code), _Kept(user, self._clock() + CODE_SECONDS))
        return code

    def begin(self, code: str) -> str | None:
        """The secret of a new session; None for a code that is wrong, used or too old."""
        asked = self._codes.pop(self._tokens.sealed(code), None)
        if asked is None or asked.until <= self._clock():
            return None
        now, secret = self._clock(), self._secret()
        lasting = {key: kept for key, kept in self._sessions().items() if kept.until > now}
        _add(lasting, self._tokens.sealed(secret), _Kept(asked.user, now + SESSION_SECONDS))
        self._keep(lasting)
        return secret

    def user_of(self, secret: str) -> User | None:
        """The user of a session; None for one that has ended or never was."""
        kept = self._sessions().get(self._tokens.sealed(secret))
        if kept is None or kept.until <= self._clock() or not self._tokens.stands(kept.user):
            return None
        return kept.user

    def end(self, secret: str) -> None:
        left = dict(self._sessions())
        if left.pop(self._tokens.sealed(secret), None) is not None:
            self._keep(left)

    def _sessions(self) -> dict[str, _Kept]:
        if self._read is None:
            try:
                self._read = _decode(self._shelf.read() or b"{}")
            except msgspec.DecodeError:  # whoever was logged in logs in again
                self._read = {}
        return self._read

    def _keep(self, sessions: dict[str, _Kept]) -> None:
        """A full disk keeps nobody from logging in, who may want to delete things, nor from logging out."""
        self._read = sessions
        try:
            self._shelf.write(msgspec.json.encode(sessions))
        except OSError as err:
            log.warning("a restart will not know of the last login or logout of the dashboard: %s", err)


def _add(to: dict[str, _Kept], digest: str, kept: _Kept) -> None:
    to[digest] = kept
    while len(to) > _MAX_KEPT:
        owners = Counter(_owner(each.user) for each in to.values())
        greediest = max(owners, key=owners.__getitem__)  # the first of those that have as many
        to.pop(next(key for key, each in to.items() if _owner(each.user) == greediest))


def _owner(user: User) -> str:
    """The owner of a share. Whoever makes one service account makes as many as they like, so those of a
    namespace have one share."""
    if user.name.startswith(ACCOUNT_PREFIX):
        return user.name.rpartition(":")[0]
    return user.name
