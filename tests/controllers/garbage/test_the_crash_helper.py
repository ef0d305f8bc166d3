"""The helper that lets controllers die: they die when told, once, and do nothing afterwards."""

from __future__ import annotations

import os
from typing import Any

import pytest

from controllers.garbage import dying
from longshore.client import Client
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.crashing import Death

MAPS = ("v1", "ConfigMap")
NAMESPACES = ("v1", "Namespace")


class Counting:
    """A controller that wants three objects, and makes them twice if it is careless."""

    def __init__(self, *, careless: bool) -> None:
        self._careless = careless

    async def controllers(self, client: Client, clock: VirtualClock) -> None:
        await clock.sleep(1)
        there = await self._names(client)
        for name in ("a", "b", "c"):
            if self._careless or name not in there:
                meta: dict[str, Any] = {"generateName": name} if self._careless else {"name": name}
                await client.create(MAPS, {"metadata": meta}, "default")
        await clock.sleep(1e9)

    async def script(self, client: Client, clock: VirtualClock) -> list[str]:
        await client.create(NAMESPACES, {"metadata": {"name": "default"}})
        await clock.sleep(200)
        return sorted(name[0] for name in await self._names(client))

    async def _names(self, client: Client) -> list[str]:
        return [obj["metadata"]["name"] for obj in (await client.list(MAPS, "default")).items]


def test_a_careful_controller_comes_to_the_same_end() -> None:
    assert [*dying.endings(Counting(careless=False))] == [["a", "b", "c"]] * (1 + 2 * 3)


def test_a_careless_one_is_found_out() -> None:
    endings = ["".join(ending) for ending in dying.endings(Counting(careless=True))]
    assert endings == ["abc", *["aabc"] * 2, *["aabbc"] * 2, *["aabbcc"] * 2]


def test_writes_are_counted() -> None:
    assert dying.telling(Counting(careless=False)).undisturbed() == (["a", "b", "c"], 3)


class Pipelining(Counting):
    """A controller that makes three objects without waiting for each, then says that it has."""

    async def controllers(self, client: Client, clock: VirtualClock) -> None:
        await clock.sleep(1)
        there, pipeline = await self._names(client), client.in_order()
        for name in ("a", "b", "c"):
            if name not in there:
                made = await pipeline.create(MAPS, {"metadata": {"name": name}}, "default")
                assert made["metadata"]["name"] == name
        if self._careless:
            await client.create(MAPS, {"metadata": {"name": "done"}}, "default")
        await pipeline.durable()
        if not self._careless and "done" not in there:
            await client.create(MAPS, {"metadata": {"name": "done"}}, "default")
        await clock.sleep(1e9)


def test_a_pipeline_that_is_waited_for_comes_to_the_same_end() -> None:
    assert [*dying.endings(Pipelining(careless=False))] == [["a", "b", "c", "d"]] * (1 + 2 * 4)


@pytest.mark.skipif(os.environ.get("LONGSHORE_SHORTCUTS") == "off", reason="there is no pipeline then")
def test_what_a_pipeline_writes_after_its_last_write_is_answered_and_lost() -> None:
    seen: list[str] = []

    class Looking(Pipelining):
        async def controllers(self, client: Client, clock: VirtualClock) -> None:
            await clock.sleep(1)
            pipeline = client.in_order()
            for name in ("a", "b", "c"):
                seen.append(
                    (await pipeline.create(MAPS, {"metadata": {"name": name}}, "default"))["metadata"]["name"]
                )
            await pipeline.durable()
            seen.append("durable")
            await clock.sleep(1e9)

        async def script(self, client: Client, clock: VirtualClock) -> list[str]:
            await client.create(NAMESPACES, {"metadata": {"name": "default"}})
            await clock.sleep(2)
            return await self._names(client)

    ending = dying.telling(Looking(careless=False)).crashed(2, Death.SEEN, 1e6)
    assert (ending, seen) == (["a", "b"], ["a", "b", "c"])


def test_a_controller_that_ends_by_itself_is_a_failure() -> None:
    class Broken(Counting):
        async def controllers(self, client: Client, clock: VirtualClock) -> None:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        [*dying.endings(Broken(careless=False))]
