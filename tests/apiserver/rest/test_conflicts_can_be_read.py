"""Whoever is told of a conflict can read what it is about, even before that was in the journal."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from longshore.api.errors import StatusError
from longshore.client import DeleteOptions
from support.api_in_memory import api_in_memory

MAPS = ("v1", "ConfigMap")


def test_after_a_conflict_the_newer_version_is_there() -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            client = server.client
            made = await client.create(MAPS, {"metadata": {"name": "m"}}, "default")

            async def late() -> str:
                with pytest.raises(StatusError, match="the object has been modified"):
                    await client.update(MAPS, {**made, "data": {"who": "late"}}, "default")
                found: str = (await client.get(MAPS, "m", "default"))["data"]["who"]
                return found

            first = client.update(MAPS, {**made, "data": {"who": "first"}}, "default")
            assert (await asyncio.gather(first, late()))[1] == "first"

    asyncio.run(play())


def test_a_client_in_this_process_that_retries_at_once_comes_through() -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            client = server.client
            await client.create(MAPS, {"metadata": {"name": "m"}, "data": {"n": "0"}}, "default")

            async def count() -> None:
                while True:
                    known = await client.get(MAPS, "m", "default")
                    more = {"n": str(int(known["data"]["n"]) + 1)}
                    with suppress(StatusError):
                        await client.update(MAPS, {**known, "data": more}, "default")
                        return

            async with asyncio.timeout(60):
                await asyncio.gather(*(count() for _ in range(5)))
            assert (await client.get(MAPS, "m", "default"))["data"]["n"] == "5"

    asyncio.run(play())


def test_what_exists_already_can_be_read() -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            client = server.client

            async def late() -> None:
                with pytest.raises(StatusError, match="already exists"):
                    await client.create(MAPS, {"metadata": {"name": "m"}}, "default")
                await client.get(MAPS, "m", "default")

            await asyncio.gather(client.create(MAPS, {"metadata": {"name": "m"}}, "default"), late())
            with pytest.raises(StatusError, match="UID in the precondition"):
                await client.delete(MAPS, "m", "default", DeleteOptions(uid="other"))

    asyncio.run(play())
