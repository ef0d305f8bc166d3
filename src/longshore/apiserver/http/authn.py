"""Who is calling: client certificate, else bearer token, else the dashboard's cookie, else anonymous; then
impersonation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longshore.api import errors
from longshore.apiserver.http import cookie_authn, impersonation
from longshore.apiserver.request.call import ANONYMOUS, User

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.request import Request


def authenticate(api: Api, request: Request) -> User:
    """The caller; raises 401 for credentials that are wrong, 400 or 403 for impersonation."""
    headers = request.headers
    user = request.user or _presented(api, headers.get("authorization"))
    if user is ANONYMOUS and "cookie" in headers:
        user = cookie_authn.user_of(api, request)
    request.is_known = user is not ANONYMOUS
    return impersonation.impersonated(api, user, headers) if impersonation.wanted(headers) else user


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
