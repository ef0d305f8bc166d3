"""Authentication: client certificate, else bearer token, else the dashboard's cookie, else anonymous; then
impersonation.
"""

from __future__ import annotations

import hashlib
import ssl
from typing import TYPE_CHECKING, Any

from longshore.api import errors
from longshore.apiserver.access.tokens import AUTHENTICATED, credential
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
