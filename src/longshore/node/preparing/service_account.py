"""A directory per service account with what an in-cluster client reads: token, ca.crt, namespace.

All pods of an account mount the same directory, so that pods without volumes share one set of mounts. The
account itself is read again every few seconds at most, when a pod needs it: its automountServiceAccountToken
may change, and an account that was created anew has another token.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import account_volume, kinds
from longshore.api.time import instants, rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.time.clock import Clock
from longshore.node.preparing.types import NotReady
from longshore.node.preparing.volumes import atomic
from longshore.node.runtime import Mount

_REFRESH_SECONDS: Final = 10.0
_ACCOUNT_WAIT_SECONDS, _ACCOUNT_RETRY_SECONDS = 2.0, 0.05
"""Seconds to wait for a missing account, and between two reads. A new namespace gets its `default` account a
moment later; a retry of the pod would take longer."""

log = logging.getLogger(__name__)


class Ready(msgspec.Struct, frozen=True):
    """An account whose directory is up to date until `due`."""

    account: Account
    automount: bool
    mounts: tuple[Mount, ...]
    due: float


class Accounts:
    """The directories of all accounts that pods have used."""

    def __init__(
        self, client: Client, clock: Clock, tokens: Tokens, directory: Path, ca_pem: str | None
    ) -> None:
        self._client = client
        self._clock = clock
        self._tokens = tokens
        self._directory = directory
        self._ca = ca_pem
        self._ready: dict[tuple[str, str], Ready] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    def ready(self, namespace: str, name: str) -> Ready | None:
        """The result of `prepare`, if it is known without a request."""
        found = self._ready.get((namespace, name))
        return found if found is not None and found.due > self._clock.monotonic() else None

    async def prepare(self, namespace: str, name: str) -> Ready:
        """Writes the account's files and returns it. Raises NotReady while there is no such account."""
        key = (namespace, name)
        async with self._locks.setdefault(key, asyncio.Lock()):
            if (found := self.ready(namespace, name)) is not None:
                return found
            obj = await self._account(namespace, name)
            account = Account(namespace, name, obj["metadata"]["uid"])
            due = self._clock.monotonic() + _REFRESH_SECONDS
            mounts: tuple[Mount, ...] = ()
            if self._ca is not None:
                token = await self.token(account, "", account_volume.TOKEN_SECONDS)
                mounts = (
                    Mount(str(self._write(account, token, self._ca)), account_volume.TARGET, read_only=True),
                )
            automount = obj.get("automountServiceAccountToken") is not False
            ready = self._ready[key] = Ready(account, automount, mounts, due)
            return ready

    async def token(self, account: Account, audience: str, seconds: int) -> str:
        """A token of the account, or NotReady."""
        try:
            return (await self._tokens.get(account, audience, seconds)).text
        except (StatusError, Unreachable) as err:
            raise NotReady("FailedMount", f"failed to fetch token: {err}") from None

    async def renew(self) -> None:
        """Reads every account again, and renews tokens that are due."""
        for key in [*self._ready]:
            try:
                await self.prepare(*key)
            except _NoAccount:
                self._ready.pop(key, None)  # the next pod that needs it gets the error
            except (NotReady, OSError) as err:  # the old token is good for a while, and renewed later
                log.warning("the token of service account %s/%s could not be renewed: %s", *key, err)

    async def _account(self, namespace: str, name: str) -> Obj:
        patience = self._clock.monotonic() + _ACCOUNT_WAIT_SECONDS
        while True:
            try:
                return await self._client.get(kinds.SERVICE_ACCOUNTS, name, namespace)
            except StatusError as err:
                if err.code != 404:
                    raise NotReady("FailedMount", _not_mounted(err)) from None
                if self._clock.monotonic() >= patience:
                    raise _NoAccount("FailedMount", _not_mounted(err)) from None
            except Unreachable as err:
                raise NotReady("FailedMount", _not_mounted(err)) from None
            await self._clock.sleep(_ACCOUNT_RETRY_SECONDS)

    def _path(self, account: Account) -> Path:
        return self._directory / account.namespace / account.name

    def _write(self, account: Account, token: str, ca: str) -> Path:
        path = self._path(account)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        texts = {"token": token, "ca.crt": ca, "namespace": account.namespace}
        atomic.write(path, {name: atomic.File(text.encode(), 0o644) for name, text in texts.items()})
        return path


class _NoAccount(NotReady):
    """There is no such account."""


def _not_mounted(why: Exception) -> str:
    return f'MountVolume.SetUp failed for volume "kube-api-access" : {why}'


_RENEWAL_SHARE: Final = 0.8
_MAX_TOKEN_SECONDS: Final = 86400.0


class Account(NamedTuple):
    """A service account; one that is recreated under the same name has another uid."""

    namespace: str
    name: str
    uid: str


class Token(NamedTuple):
    """A bearer token. `renew_at` is on the clock's `monotonic`."""

    text: str
    renew_at: float


class Tokens:
    """Tokens by account, audience and length of life."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._issued: dict[tuple[Account, str, int], Token] = {}

    async def get(self, account: Account, audience: str, seconds: int) -> Token:
        """A token that is valid for a while. Raises the API server's errors."""
        key = (account, audience, seconds)
        token = self._issued.get(key)
        if token is None or token.renew_at <= self._clock.monotonic():
            self._forget_old()
            token = self._issued[key] = await self._ask(account, audience, seconds)
        return token

    async def _ask(self, account: Account, audience: str, seconds: int) -> Token:
        spec = {"audiences": [audience] if audience else [], "expirationSeconds": seconds}
        answer = await self._client.create(
            kinds.SERVICE_ACCOUNTS,
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec},
            account.namespace,
            name=account.name,
            subresource="token",
        )
        status = answer["status"]
        life = (rfc3339.parse(status["expirationTimestamp"]) - instants.of(self._clock.now())) / SECOND
        return Token(
            status["token"], self._clock.monotonic() + min(life * _RENEWAL_SHARE, _MAX_TOKEN_SECONDS)
        )

    def _forget_old(self) -> None:
        now = self._clock.monotonic()
        self._issued = {key: token for key, token in self._issued.items() if token.renew_at > now}
