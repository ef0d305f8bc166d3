"""GET of one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.api import errors
from longshore.apiserver.answer import Answer, Later
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import versions
from longshore.apiserver.rest.update import key_of

if TYPE_CHECKING:
    from longshore.apiserver.api import Api


def get(api: Api, call: Call) -> Answer | Later:
    """The object as it is now; a resourceVersion asks for a state not older than that."""
    asked = versions.parse(call.one("resourceVersion"))
    if asked > api.store.revision:
        return Later(lambda: _then(api, call, asked))
    return _now(api, call)


async def _then(api: Api, call: Call, revision: int) -> Answer:
    await versions.wait_until(api, revision)
    return _now(api, call)


def _now(api: Api, call: Call) -> Answer:
    entry = api.store.get(key_of(call))
    if entry is None:
        raise errors.not_found(call.resource.group, call.resource.plural, call.name)
    return Answer(call.resource, entry=entry)
