"""Snapshots of the journal for `longshore backup`: `snapshots` of longshore.dev.

    GET /apis/longshore.dev/v1/snapshots/NAME      copies the journal, and says where the copy is

The copy is a file in the data directory, which only its owner can read; whoever asked for it takes it away.
One is made at a time, and an older one that was left goes first. It is for administrators.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longshore.api import errors
from longshore.api.types import Obj
from longshore.apiserver.documents import own_group
from longshore.store import StoreError

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.call import Call

ROW: Final = own_group.row("Snapshot", "snapshots", namespaced=False)
DIRECTORY: Final = "snapshots"


def path(name: str) -> str:
    """The path of a snapshot on the server."""
    return f"/apis/{own_group.GROUP}/{own_group.VERSION}/snapshots/{name}"


def serve(api: Api, directory: Path) -> None:
    """Serves snapshots of the journal in this data directory."""
    room, one_at_a_time = directory / DIRECTORY, asyncio.Lock()
    _empty(room)

    async def answer(call: Call) -> Obj:
        async with one_at_a_time:
            _empty(room)
            room.mkdir(mode=0o700, exist_ok=True)
            file = room / f"{call.name}.db"
            try:
                await api.store.copy_to(file)
            except (StoreError, OSError) as err:
                raise errors.internal(str(err)) from err
        return {"metadata": {"name": call.name}, "file": str(file)}

    api.own.serve(ROW, answer)


def _empty(room: Path) -> None:
    for file in room.glob("*.db*"):
        file.unlink(missing_ok=True)
