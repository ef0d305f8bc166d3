"""The patch that ends waiting for an object, `$deleteFromPrimitiveList/finalizers`, on the short way."""

from __future__ import annotations

import asyncio
from typing import Any

from longshore.client import PatchType
from support.api_in_memory import api_in_memory

PODS = ("v1", "Pod")
MINE, THEIRS = "example.com/mine", "example.com/theirs"


def left_of(finalizers: list[str], gone: Any) -> Any:
    async def play() -> Any:
        async with api_in_memory() as server:
            meta = {"name": "p", "finalizers": finalizers}
            spec = {"containers": [{"name": "c", "image": "i"}]}
            await server.client.create(PODS, {"metadata": meta, "spec": spec}, "default")
            patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": gone}}
            pod = await server.client.patch(PODS, "p", patch, "default", type=PatchType.STRATEGIC)
            return pod["metadata"].get("finalizers", "none")

    return asyncio.run(play())


def test_only_the_named_one_goes() -> None:
    assert left_of([MINE, THEIRS], [MINE]) == [THEIRS]


def test_the_last_one_takes_the_field_with_it() -> None:
    assert left_of([MINE], [MINE]) == "none"


def test_one_that_is_not_there_changes_nothing() -> None:
    assert left_of([THEIRS], [MINE]) == [THEIRS]
    assert left_of([], [MINE]) == "none"


def test_what_is_no_list_takes_nothing_away() -> None:
    assert left_of([MINE], {"a": "b"}) == [MINE]
