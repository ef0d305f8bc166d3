"""Who is calling: bearer token, else client certificate, else anonymous; then impersonation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from longshore.api import errors, field
from longshore.apiserver.access.authz import Wish
from longshore.apiserver.request.call import ANONYMOUS, User

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.request import Headers, Request

_EXTRA: Final = "impersonate-extra-"


def authenticate(api: Api, request: Request) -> User:
    """The caller; raises 401 for credentials that are wrong, 403 for impersonation that is not allowed."""
    headers = request.headers
    user = request.user or _presented(api, headers.get("authorization"))
    if "impersonate-user" in headers:
        return _impersonated(api, user, headers)
    return user


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


def user_of_certificate(certificate: Mapping[str, Any]) -> User | None:
    """Common name is the user, organisations are the groups. The TLS layer has checked the signature."""
    name, groups = "", []
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return User(name, (*groups, "system:authenticated")) if name else None


def _impersonated(api: Api, user: User, headers: Headers) -> User:
    name = headers["impersonate-user"]
    groups = tuple(headers.all("impersonate-group"))
    _may(api, user, "users", name)
    for group in groups:
        _may(api, user, "groups", group)
    extra: dict[str, tuple[str, ...]] = {}
    for key in headers:
        if key.startswith(_EXTRA):
            extra[unquote(key[len(_EXTRA) :])] = tuple(headers.all(key))
    if name != "system:anonymous" and "system:authenticated" not in groups:
        groups = (*groups, "system:authenticated")
    return User(name, groups, headers.get("impersonate-uid", ""), extra)


def _may(api: Api, user: User, what: str, name: str) -> None:
    if api.authorizer.allows(user, Wish("impersonate", "", what, name)):
        return
    why = (
        f"User {field.quoted(user.name)} cannot impersonate resource {field.quoted(what)} "
        'in API group "" at the cluster scope'
    )
    raise errors.forbidden("", what, name, why)
