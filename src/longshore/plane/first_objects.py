"""Waits for the first object of some kinds: what works on them starts when there is something to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from longshore.machinery.informers.heard_objects import OnChange

if TYPE_CHECKING:
    from longshore.api.facts.kinds import Kind
    from longshore.api.types import Obj
    from longshore.machinery.informers.informer import Informers

Awaited: TypeAlias = "Mapping[Kind, Callable[[Obj], bool]]"
"""Kinds, each with a function that says which objects count."""


def any_object(obj: Obj) -> bool:
    return True


async def wait(informers: Informers, awaited: Awaited) -> None:
    """Waits until there is an object of one of these kinds that counts."""
    found = asyncio.Event()
    for kind, counts in awaited.items():
        informers.get(kind).add_handler(_Counts(counts, found))
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(informers.run())
        await found.wait()
        following.cancel()


class _Counts(OnChange):
    """Sets `found` when an object counts."""

    def __init__(self, counts: Callable[[Obj], bool], found: asyncio.Event) -> None:
        def changed(obj: Obj) -> None:
            if counts(obj):
                found.set()

        super().__init__(changed)
