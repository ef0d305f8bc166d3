"""Objects that may be there or not."""

from __future__ import annotations

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Client, What


async def found(client: Client, what: What, name: str, namespace: str = "") -> Obj | None:
    """The object, or None if there is none of this name."""
    try:
        return await client.get(what, name, namespace)
    except StatusError as err:
        if err.code != 404:
            raise
        return None
