"""Snapshots of the journal for `longshore backup`: `snapshots` of longshore.dev.

    GET /apis/longshore.dev/v1/snapshots/NAME      copies the journal, and says where the copy is

The copy is a file in the data directory, which only its owner can read; the client that asked for it removes
it. Copies are made one at a time, after old ones that no process holds are removed; administrators only.
"""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longshore.api import errors, resources
from longshore.api.types import Obj
from longshore.apiserver.documents import own_group
from longshore.store import StoreError

if TYPE_CHECKING:
    from longshore.apiserver.documents.own_group import MadeDocument
    from longshore.apiserver.request.call import Call
    from longshore.store import Store

ROW: Final = resources.own("Snapshot", "snapshots", namespaced=False)
DIRECTORY: Final = "snapshots"


def path(name: str) -> str:
    """The API path of a snapshot."""
    return f"/apis/{resources.OWN_GROUP}/{resources.OWN_VERSION}/snapshots/{name}"


def document(store: Store, directory: Path) -> MadeDocument:
    """The API resource that makes snapshots of the journal in this data directory."""
    room, one_at_a_time = directory / DIRECTORY, asyncio.Lock()
    _empty(room)

    async def answer(call: Call) -> Obj:
        async with one_at_a_time:
            _empty(room)
            room.mkdir(mode=0o700, exist_ok=True)
            file = room / f"{call.name}.db"
            try:
                await store.copy_to(file)
            except (StoreError, OSError) as err:
                raise errors.internal(str(err)) from err
        return {"metadata": {"name": call.name}, "file": str(file)}

    return own_group.document(ROW, answer)


@contextmanager
def held(copy: Path) -> Iterator[Path]:
    """Locks a copy for this process, and removes it after the block. Raises FileNotFoundError if another
    backup, or a longshore that starts, has already removed it."""
    with copy.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        try:
            copy.stat()
            yield copy
        finally:
            copy.unlink(missing_ok=True)


def _empty(room: Path) -> None:
    """Removes copies that no process locks; a lock ends with its process."""
    for copy in room.glob("*.db"):
        with suppress(BlockingIOError, FileNotFoundError), copy.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            copy.unlink(missing_ok=True)
    for beside in room.glob("*.db-*"):
        if not beside.with_name(beside.name.rpartition("-")[0]).exists():
            beside.unlink(missing_ok=True)
