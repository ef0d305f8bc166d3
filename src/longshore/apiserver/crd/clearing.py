"""Deletes the objects of definitions that are being deleted, one slice in each turn of the loop.

Part of the server, not a controller, so it also runs with `--controllers none`. It begins by checking all
definitions, since a server may have stopped in the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.apiserver.catalog import DEFINITIONS
from longshore.apiserver.crd import lifecycle
from longshore.store import StoreError

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import Key

_PAUSE_SECONDS: Final = 5.0
"""Pause after a write that failed, as on a full disk."""


async def clear_definitions(api: Api) -> None:
    """Runs for as long as the server does."""
    while True:
        api.has_uncleared.clear()
        for entry in api.store.latest_list(DEFINITIONS):
            if lifecycle.is_going(entry):
                try:
                    await _clear(api, entry.key)
                except StoreError:
                    api.has_uncleared.set()
                    await api.clock.sleep(_PAUSE_SECONDS)
        await api.has_uncleared.wait()


async def _clear(api: Api, key: Key) -> None:
    """Deletes all objects of a definition, then the definition if no finalizer holds an object."""
    entry = api.store.latest(key)
    found = [] if entry is None else lifecycle.objects(api, entry.obj)
    for at in range(0, len(found), lifecycle.SLICE_OBJECTS):
        entry = api.store.latest(key)
        if entry is None or not lifecycle.is_going(entry):
            return
        staged = lifecycle.delete_objects(api, entry.obj, found[at : at + lifecycle.SLICE_OBJECTS])
        if staged:
            await staged[-1].done()
        await api.clock.sleep(0)
    entry = api.store.latest(key)
    if entry is not None and lifecycle.is_going(entry) and (staged := lifecycle.let_go(api, entry)):
        api.catalog.expect(staged[-1].entry.revision)
        await staged[-1].done()
