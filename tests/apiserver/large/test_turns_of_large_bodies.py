"""Large bodies of one user do not keep those of others waiting."""

from __future__ import annotations

import asyncio

import pytest

from longshore.apiserver.answer import Answer, DocumentAnswer
from longshore.apiserver.api import Api
from longshore.apiserver.large.large_writes import LargeWrites
from longshore.apiserver.request.call import Call, User
from support.api_in_memory import api_in_memory

pytestmark = pytest.mark.anyio


class Recorded(LargeWrites):
    """Takes note of whose body is read, without a process that reads it."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.order: list[str] = []

    async def _written(self, call: Call) -> Answer | DocumentAnswer:
        self.order.append(call.user.name)
        await asyncio.sleep(0)
        return DocumentAnswer({})


async def test_users_take_turns_and_those_who_left_are_passed_over() -> None:
    async with api_in_memory() as server:
        large, maps = Recorded(server.api), server.api.catalog.find("", "v1", "configmaps")
        assert maps is not None
        writes = [
            asyncio.ensure_future(large.write(Call(maps, "create", "default", user=User(name, ()))))
            for name in ("a", "a", "gone", "a", "a", "b", "b", "c")
        ]
        await asyncio.sleep(0)
        writes[2].cancel()
        await asyncio.gather(*writes, return_exceptions=True)
        large.close()
    assert large.order == ["a", "a", "b", "c", "a", "b", "a"]
