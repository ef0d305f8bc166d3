"""A document is posted to a server that is no Kubernetes."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import pytest
from aiohttp import web

from client.http.scripted_server import Script, made
from longshore.client import Unreachable
from longshore.client.http.posting import post

pytestmark = pytest.mark.anyio


async def test_the_answer_is_given_back(script: Script) -> None:
    script.answers = [made({"errorMessage": "no"})]
    assert json.loads(await post(f"{script.url}/a/predicate", b'{"task":1}')) == {"errorMessage": "no"}
    ((method, path, headers, body),) = script.asked
    assert (method, path, body) == ("POST", "/a/predicate", b'{"task":1}')
    assert headers["Content-Type"] == "application/json"


async def test_an_answer_that_is_no_200_is_a_failure(script: Script) -> None:
    script.answers = [made({}, status=503, Retry_After="0")]
    with pytest.raises(Unreachable, match="answered with 503"):
        await post(f"{script.url}/predicate", b"{}")
    assert len(script.asked) == 1, "nobody repeats it"


async def test_a_server_that_is_away_is_a_failure(script: Script) -> None:
    with pytest.raises(Unreachable):
        await post("http://127.0.0.1:1/predicate", b"{}")


async def test_one_that_is_given_up_leaves_nothing_behind(script: Script) -> None:
    begun = asyncio.Event()

    async def never(request: web.BaseRequest) -> web.Response:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    script.answers = [never]
    posting = asyncio.create_task(post(f"{script.url}/predicate", b"{}"))
    await begun.wait()
    posting.cancel()
    with suppress(asyncio.CancelledError):
        await posting
    assert posting.cancelled()
