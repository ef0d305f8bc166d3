"""Bearer tokens: the administrator's, and signed ones of service accounts (TokenRequest).

A service account's token is a JWT signed with this server's own key. It is invalid once it has expired, or
once the account, or the pod, Secret or node it was bound to, is deleted: they are looked up at every use.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj, encode
from longshore.apiserver.request.call import User
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.store import Store

ISSUER: Final = "https://kubernetes.default.svc"
ADMIN: Final = User(
    "longshore-admin", ("system:masters", "system:authenticated"), "6c6f6e67-7368-4f72-a500-61646d696e00"
)
AUTHENTICATED: Final = "system:authenticated"
ACCOUNT_PREFIX: Final = "system:serviceaccount:"
_EXTRA: Final = "authentication.kubernetes.io/"
_LEEWAY_SECONDS: Final = 60
"""Seconds for which a token stays valid after its owner was to be deleted, as upstream."""
_HEADER: Final = {"alg": "HS256", "typ": "JWT"}
_MAX_TOKEN: Final = 8192  # longer ones were not issued here, and need no check of the signature


class Tokens:
    """Finds the user of a token, and issues tokens for service accounts."""

    def __init__(self, store: Store, *, admin_token: str, key: bytes, clock: Callable[[], float]) -> None:
        self._store = store
        self._admin = hashlib.sha256(admin_token.encode()).digest()
        self._key = key
        self._clock = clock

    def user_of(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> User | None:
        """The token's user; None for a token that is wrong, expired, for none of `audiences`, or of a gone
        owner.

        A token for another audience is rejected: else that audience could use it here and act as the account.
        """
        if len(token) > _MAX_TOKEN:
            return None
        if hmac.compare_digest(hashlib.sha256(token.encode()).digest(), self._admin):
            return ADMIN if ISSUER in audiences else None
        claims = self._claims(token)
        if claims is not None and not any(audience in claims["aud"] for audience in audiences):
            return None
        return self._account(claims) if claims is not None else None

    def issue(
        self, account: Obj, *, identifier: str, seconds: int, audiences: list[str], bound: Obj | None
    ) -> tuple[str, int]:
        """Issues a token of this service account; returns it and its expiry. `identifier` is its unique
        `jti`, `bound` the claims about the object it is bound to, as `{"pod": {"name": …, "uid": …}}`."""
        meta, now = account["metadata"], int(self._clock())
        identity: Obj = {
            "namespace": meta["namespace"],
            "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
        }
        if bound is not None:
            identity |= bound
        claims: Obj = {
            "aud": audiences or [ISSUER],
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "iss": ISSUER,
            "jti": identifier,
            "kubernetes.io": identity,
            "sub": f"{ACCOUNT_PREFIX}{meta['namespace']}:{meta['name']}",
        }
        text = f"{_b64(encode(_HEADER))}.{_b64(encode(claims))}"
        return f"{text}.{self._sign(text)}", now + seconds

    def stands(self, user: User) -> bool:
        """Whether a user's service account, and the pod of its token, still exist with the same uid."""
        namespace, _, name = user.name.removeprefix(ACCOUNT_PREFIX).partition(":")
        if not user.name.startswith(ACCOUNT_PREFIX) or not user.uid:
            return True
        pod, uid = (user.extra.get(f"{_EXTRA}pod-{part}", ("",))[0] for part in ("name", "uid"))
        return self._lives("serviceaccounts", namespace, {"name": name, "uid": user.uid}) and (
            not pod or self._lives("pods", namespace, {"name": pod, "uid": uid})
        )

    def sealed(self, secret: str) -> str:
        """A digest that is keyed with the server's own secrets, so replacing those makes it invalid."""
        text = secret.encode("utf-8", "surrogateescape")
        return hmac.new(self._key + self._admin, text, hashlib.sha256).hexdigest()

    def _sign(self, text: str) -> str:
        return _b64(hmac.new(self._key, text.encode(), hashlib.sha256).digest())

    def _claims(self, token: str) -> Obj | None:
        text, dot, signature = token.rpartition(".")
        if not dot or not token.isascii() or not hmac.compare_digest(signature, self._sign(text)):
            return None
        try:
            claims: Any = msgspec.json.decode(_unb64(text.partition(".")[2]))
        except (msgspec.DecodeError, binascii.Error, ValueError):
            return None
        return claims if claims["nbf"] <= self._clock() < claims["exp"] else None

    def _account(self, claims: Obj) -> User | None:
        identity = claims["kubernetes.io"]
        namespace, account = identity["namespace"], identity["serviceaccount"]
        pod, secret, node = identity.get("pod"), identity.get("secret"), identity.get("node")
        owners = [("serviceaccounts", namespace, account)]
        if secret is not None:
            owners.append(("secrets", namespace, secret))
        if pod is not None:
            owners.append(("pods", namespace, pod))
        elif node is not None:  # a pod's token names its node, and is invalid after the pod's deletion
            owners.append(("nodes", "", node))
        if not all(self._lives(*owner) for owner in owners):
            return None
        extra = credential(f"JTI={claims['jti']}") if "jti" in claims else {}
        for kind, ref in (("pod", pod), ("node", node)):
            for part, value in (ref or {}).items():
                if value:
                    extra[f"{_EXTRA}{kind}-{part}"] = (value,)
        return User(claims["sub"], (*groups_of(namespace), AUTHENTICATED), account["uid"], extra)

    def _lives(self, storage: str, namespace: str, who: Obj) -> bool:
        entry = self._store.get(Key(storage, namespace, who["name"]))
        if entry is None:
            return False
        meta = entry.obj["metadata"]
        if who["uid"] and meta["uid"] != who["uid"]:
            return False
        due = meta.get("deletionTimestamp")
        return due is None or rfc3339.parse(due) / SECOND >= self._clock() - _LEEWAY_SECONDS


def groups_of(namespace: str) -> tuple[str, ...]:
    """The groups of every service account of a namespace."""
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"


def credential(which: str) -> dict[str, tuple[str, ...]]:
    """The `extra` of a user that names the credential which was presented."""
    return {f"{_EXTRA}credential-id": (which,)}


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
