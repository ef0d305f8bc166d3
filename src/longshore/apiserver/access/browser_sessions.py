"""Browser sessions of the dashboard. A one-time code becomes a session with the rights of the user that
requested the code.

A code works once, within a minute, and is held in memory. A session is stored, so that it survives a restart
of the server; only the digest of its secret is stored, so a reader of the storage cannot use it. A session
ends after 8 hours, at logout, when its service account is deleted, and when the server's own secrets are
replaced, which voids every older credential.
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
"""Limit for codes and for sessions, each. Above it, the owner with the most of them loses its oldest."""


class Shelf(Protocol):
    """Stores sessions, so that they outlive the process."""

    def read(self) -> bytes:
        """The stored bytes; empty if nothing was written yet."""

    def write(self, data: bytes) -> None:
        """Replaces the stored bytes, durably and in one step, or raises OSError."""


class _Kept(msgspec.Struct, frozen=True):
    user: User
    until: float
    """Seconds since 1970."""


_decode: Final = msgspec.json.Decoder(dict[str, _Kept]).decode


class BrowserSessions:
    """All codes and sessions of a server. `secret` makes unguessable strings."""

    def __init__(
        self, shelf: Shelf, tokens: Tokens, *, clock: Callable[[], float], secret: Callable[[], str]
    ) -> None:
        self._shelf, self._tokens, self._clock, self._secret = shelf, tokens, clock, secret
        self._codes: dict[str, _Kept] = {}
        self._read: dict[str, _Kept] | None = None
        """Sessions by the digest of their secret; None until they are first read."""

    def code_for(self, user: User) -> str:
        """Makes a code that a browser can exchange for a session of this user."""
        code = self._secret()
        _add(self._codes, self._tokens.sealed(code), _Kept(user, self._clock() + CODE_SECONDS))
        return code

    def begin(self, code: str) -> str | None:
        """Begins a session and returns its secret; None for a code that is wrong, used or too old."""
        asked = self._codes.pop(self._tokens.sealed(code), None)
        if asked is None or asked.until <= self._clock():
            return None
        now, secret = self._clock(), self._secret()
        lasting = {key: kept for key, kept in self._sessions().items() if kept.until > now}
        _add(lasting, self._tokens.sealed(secret), _Kept(asked.user, now + SESSION_SECONDS))
        self._keep(lasting)
        return secret

    def user_of(self, secret: str) -> User | None:
        """The user of a session; None if the session has ended or never existed."""
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
            except msgspec.DecodeError:  # users have to log in again
                self._read = {}
        return self._read

    def _keep(self, sessions: dict[str, _Kept]) -> None:
        """Stores the sessions. With a full disk, login and logout still work, until the next restart."""
        self._read = sessions
        try:
            self._shelf.write(msgspec.json.encode(sessions))
        except OSError as err:
            log.warning("a restart will not know of the last login or logout of the dashboard: %s", err)


def _add(to: dict[str, _Kept], digest: str, kept: _Kept) -> None:
    to[digest] = kept
    while len(to) > _MAX_KEPT:
        owners = Counter(_owner(each.user) for each in to.values())
        greediest = max(owners, key=owners.__getitem__)  # the first one, if several have as many
        to.pop(next(key for key, each in to.items() if _owner(each.user) == greediest))


def _owner(user: User) -> str:
    """The owner to which a session counts. All service accounts of a namespace are one owner, since a user
    can create any number of them."""
    if user.name.startswith(ACCOUNT_PREFIX):
        return user.name.rpartition(":")[0]
    return user.name
