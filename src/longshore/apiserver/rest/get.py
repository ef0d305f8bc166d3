"""GET of one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.api import errors
from longshore.apiserver.answer import Answer
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import versions
from longshore.apiserver.rest.update import key_of

if TYPE_CHECKING:
    from longshore.apiserver.api import Api


async def get(api: Api, call: Call) -> Answer:
    """The object as it is now; a resourceVersion asks for a state not older than that."""
    asked = versions.parse(call.one("resourceVersion"))
    await versions.wait_until(api, asked)
    entry = api.store.get(key_of(call))
    if entry is None:
        raise errors.not_found(call.resource.group, call.resource.plural, call.name)
    return Answer(call.resource, entry=entry)
