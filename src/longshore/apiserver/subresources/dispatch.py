"""Calls the function that answers a subresource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.apiserver.access import reviews
from longshore.apiserver.answer import Answer, DocumentAnswer, Found, Later, LinkAnswer
from longshore.apiserver.crd import scale
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import get
from longshore.apiserver.subresources import connect, eviction, log, token
from longshore.apiserver.subresources.binding import bind, bind_through_collection

if TYPE_CHECKING:
    from longshore.apiserver.api import Api


def read(api: Api, call: Call) -> Found | Later:
    """GET of a subresource other than status."""
    if call.subresource == "log":
        return Later(lambda: log.log(api, call))
    if call.subresource in ("exec", "attach", "portforward", "proxy"):
        return connect.connect(api, call)
    if call.subresource == "scale":
        return scale.read(api, call)
    return get.get(api, call)


def create(api: Api, call: Call) -> Answer | DocumentAnswer | LinkAnswer:
    """POST to a subresource."""
    if call.subresource == "binding":
        return bind(api, call)
    if call.subresource == "eviction":
        return eviction.evict(api, call)
    if call.subresource == "token":
        return token.token(api, call)
    return connect.connect(api, call)


def special_create(api: Api, call: Call) -> Answer | DocumentAnswer | None:
    """POST to a collection that stores nothing: reviews and bindings. None for all others."""
    if call.resource.kind in reviews.KINDS:
        return reviews.review(api, call)
    if call.resource.plural == "bindings" and not call.resource.group:
        return bind_through_collection(api, call)
    return None
