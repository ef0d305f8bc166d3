"""Tokens of service accounts: asked for once, shared by all pods that may use them, renewed in time.

A token is renewed when 80 % of its life have passed, as the kubelet does, or after a day.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from longshore.api.facts import kinds
from longshore.api.time import instants, rfc3339
from longshore.api.time.instants import SECOND
from longshore.client import Client
from longshore.machinery.time.clock import Clock

_RENEWAL_SHARE: Final = 0.8
_MAX_TOKEN_SECONDS: Final = 86400.0


class Account(NamedTuple):
    """A service account; one made again under the same name is another one."""

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
        """A token that is good for a while yet. Raises what the API server answers."""
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
