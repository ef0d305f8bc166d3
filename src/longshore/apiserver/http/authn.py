"""Authentication: client certificate, else bearer token, else the dashboard's cookie, else anonymous; then
impersonation."""

from __future__ import annotations

import hashlib
import ssl
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from longshore.api import errors, names
from longshore.apiserver.access.authz import Access
from longshore.apiserver.access.tokens import ACCOUNT_PREFIX, AUTHENTICATED, credential, groups_of
from longshore.apiserver.http import cookie_authn
from longshore.apiserver.request.call import ANONYMOUS, User

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.request import Headers, Request


def authenticate(api: Api, request: Request) -> User:
    """The caller; raises 401 for credentials that are wrong, 400 or 403 for impersonation."""
    headers = request.headers
    user = request.user or _presented(api, headers.get("authorization"))
    if user is ANONYMOUS and "cookie" in headers:
        user = cookie_authn.user_of(api, request)
    request.is_known = user is not ANONYMOUS
    return _impersonated(api, user, headers) if _wants_impersonation(headers) else user


def _presented(api: Api, authorization: str | None) -> User:
    if not authorization:
        return ANONYMOUS
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or api.tokens is None:
        raise errors.unauthorized()
    user = api.tokens.user_of(token.strip())
    if user is None:
        raise errors.unauthorized()
    return user


def user_of_certificate(tls: ssl.SSLObject) -> User | None:
    """The user of a client certificate: the common name is its name, organisations are its groups. The TLS
    layer has checked the signature. None if the client has shown no certificate."""
    name, groups = "", []
    certificate, raw = tls.getpeercert(), tls.getpeercert(binary_form=True)
    if not certificate or raw is None:
        return None
    subject: Any = certificate.get("subject", ())
    for part in subject:
        for key, value in part:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    if not name:
        return None
    extra = credential(f"X509SHA256={hashlib.sha256(raw).hexdigest()}")
    return User(name, (*groups, AUTHENTICATED), extra=extra)


# ---- Impersonation: the `Impersonate-*` headers. Each name, group, uid and extra value needs a right.
#
# The rights are Kubernetes': the verb `impersonate` on `users`, `groups` and `serviceaccounts` of the core
# group, and on `uids` and `userextras/KEY` of authentication.k8s.io. Headers without a user are refused: else
# a client could believe to act as a group while it acts as itself.

_USER, _GROUP, _UID, _EXTRA = "impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-"
_AUTHENTICATION: Final = "authentication.k8s.io"
_UNAUTHENTICATED: Final = ANONYMOUS.groups[0]


def _wants_impersonation(headers: Headers) -> bool:
    """Whether a request may ask for impersonation. Runs for every request: one search in the joined names
    takes half the time of a loop."""
    return "impersonate-" in " ".join(headers)


def _impersonated(api: Api, user: User, headers: Headers) -> User:
    """The user that the headers name. Raises 403 if `user` lacks a right to it, 400 if they name no user."""
    name, uid, groups = headers.get(_USER, ""), headers.get(_UID, ""), tuple(headers.all(_GROUP))
    extra = {
        unquote(key[len(_EXTRA) :]): tuple(headers.all(key)) for key in headers if key.startswith(_EXTRA)
    }
    if not name:
        if groups or uid or extra:
            raise _without_user(groups, uid, extra)
        return user
    account = _account(name)
    if account is not None:
        accesses = [Access("impersonate", "", "serviceaccounts", account[1], account[0])]
    else:
        accesses = [Access("impersonate", "", "users", name)]
    accesses += [Access("impersonate", "", "groups", group) for group in groups]
    for key, values in extra.items():
        accesses += [Access("impersonate", _AUTHENTICATION, f"userextras/{key}", value) for value in values]
    if uid:
        accesses.append(Access("impersonate", _AUTHENTICATION, "uids", uid))
    for access in accesses:
        api.authorizer.insist(user, access)
    if account is not None and not groups:
        groups = groups_of(account[0])
    return User(name, _completed(name, groups), uid, extra)


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """The groups, plus system:authenticated or system:unauthenticated unless one of them is named."""
    if name == ANONYMOUS.name:
        return groups if _UNAUTHENTICATED in groups else (*groups, _UNAUTHENTICATED)
    if AUTHENTICATED in groups or _UNAUTHENTICATED in groups:
        return groups
    return (*groups, AUTHENTICATED)


def _account(user: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user's name stands for."""
    if not user.startswith(ACCOUNT_PREFIX):
        return None
    namespace, _, name = user[len(ACCOUNT_PREFIX) :].partition(":")
    if names.dns1123_label(namespace) or names.dns1123_subdomain(name):
        return None
    return namespace, name


def _without_user(groups: tuple[str, ...], uid: str, extra: dict[str, tuple[str, ...]]) -> errors.StatusError:
    """The 400, with upstream's Go structs: kind, namespace, name, uid, apiVersion, resourceVersion,
    fieldPath."""
    version = f"{_AUTHENTICATION}/v1"
    asked = [f"{{Group  {group}    }}" for group in groups]
    asked += [f"{{UserExtra  {v}  {version}  {key}}}" for key, values in extra.items() for v in values]
    if uid:
        asked.append(f"{{UID  {uid}  {version}  }}")
    return errors.bad_request(f"requested [{' '.join(asked)}] without impersonating a user")
