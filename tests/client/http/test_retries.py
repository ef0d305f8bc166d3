"""When the HTTP engine tries again, and when it must not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from client.http.scripted_server import Script, made
from longshore.api.errors import StatusError
from longshore.client import TimedOut, Unreachable
from longshore.client.config.connection import Connection
from longshore.client.credentials.token_file import TokenFile
from longshore.client.http import HttpClient
from longshore.client.http.transport import MAX_TRIES
from support.http_server import Asked, Reply

pytestmark = pytest.mark.anyio

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}
BUSY = {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "busy"}


async def broken(request: Asked) -> Reply | None:
    request.abort()
    return None


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_busy_server_that_names_a_time_is_asked_again(script: Script, code: int) -> None:
    script.answers = [made(BUSY, code, Retry_After="2"), made(BUSY, code, Retry_After="1"), made(POD, 201)]
    async with script.client() as client:
        assert await client.create(("v1", "Pod"), POD, "default") == {"metadata": {"name": "p"}}
    assert script.pauses == [2, 1]
    assert len({body for *_, body in script.asked}) == 1


async def test_a_busy_server_that_names_no_time_is_believed(script: Script) -> None:
    script.answers = [made(BUSY, 429)]
    async with script.client() as client:
        with pytest.raises(StatusError, match="busy"):
            await client.get(("v1", "Pod"), "p", "default")
    assert len(script.asked) == 1


async def test_it_gives_up_after_ten_tries(script: Script) -> None:
    script.answers = [made(BUSY, 429, Retry_After="1")]
    async with script.client() as client:
        with pytest.raises(StatusError, match="busy"):
            await client.get(("v1", "Pod"), "p", "default")
    assert len(script.asked) == MAX_TRIES


async def test_a_401_at_the_last_try_is_shown_to_the_caller(script: Script, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old")
    unknown = made({"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "who?"}, 401)
    script.answers = [*[made(BUSY, 429, Retry_After="1")] * (MAX_TRIES - 1), unknown]
    connection = Connection(script.url, credentials=TokenFile(tmp_path / "token"))
    async with script.client(connection=connection) as client:
        with pytest.raises(StatusError, match=r"who\?"):
            await client.get(("v1", "Pod"), "p", "default")
    assert len(script.asked) == MAX_TRIES


async def test_a_conflict_is_never_retried(script: Script) -> None:
    script.answers = [
        made({"kind": "Status", "code": 409, "reason": "Conflict", "message": "no"}, 409, Retry_After="1")
    ]
    async with script.client() as client:
        with pytest.raises(StatusError, match="no"):
            await client.update(("v1", "Pod"), POD, "default")
    assert len(script.asked) == 1


async def test_a_read_whose_connection_broke_is_repeated(script: Script) -> None:
    script.answers = [broken, made(POD)]
    async with script.client() as client:
        assert (await client.get(("v1", "Pod"), "p", "default"))["metadata"] == {"name": "p"}


async def test_a_write_whose_connection_broke_is_not_repeated(script: Script) -> None:
    script.answers = [broken, made(POD)]
    async with script.client() as client:
        with pytest.raises(Unreachable, match=r"POST /api/v1/namespaces/default/pods"):
            await client.create(("v1", "Pod"), POD, "default")
    assert len(script.asked) == 1


async def test_a_401_reads_changing_credentials_again_once(script: Script, tmp_path: Path) -> None:
    denied = made({"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"}, 401)
    (tmp_path / "t").write_text("old")

    async def denied_and_renewed(request: Asked) -> Reply | None:
        (tmp_path / "t").write_text("new")
        return await denied(request)

    script.answers = [denied_and_renewed, made(POD), denied]
    connection = Connection(script.url, credentials=TokenFile(tmp_path / "t"))
    async with script.client(connection=connection) as client:
        await client.get(("v1", "Pod"), "p", "default")
        assert [asked[2]["Authorization"] for asked in script.asked] == ["Bearer old", "Bearer new"]
        with pytest.raises(StatusError, match="Unauthorized"):
            await client.get(("v1", "Pod"), "p", "default")
    assert len(script.asked) == 4


async def test_a_server_that_does_not_answer_is_a_time_out(script: Script) -> None:
    async def silent(request: Asked) -> Reply | None:
        await asyncio.sleep(0.5)
        return Reply()

    script.answers = [silent]
    async with script.client(seconds=0.05) as client:
        with pytest.raises(
            TimedOut, match=r"GET .*/pods/p: no answer from http://127.0.0.1:\d+ within 0.05 s"
        ):
            await client.get(("v1", "Pod"), "p", "default")


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with HttpClient(Connection("http://127.0.0.1:1")) as client:
        with pytest.raises(Unreachable, match=r"cannot connect: .*[Cc]onnect"):
            await client.get(("v1", "Pod"), "p", "default")


async def test_a_raw_request_is_sent_once_and_its_code_is_the_callers(script: Script) -> None:
    script.answers = [made(BUSY, 429, Retry_After="1")]
    async with script.client() as client:
        answer = await client.request("GET", "/metrics", query={"a": "b c"})
    assert (answer.code, answer.headers["retry-after"]) == (429, "1")
    assert [asked[1] for asked in script.asked] == ["/metrics?a=b+c"]
