"""A disk that is full: writes are refused with the cause, reads and watches go on, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.http_calls import Calls, lines
from support.small_disk import small_disk
from up.crash.up_process import UpProcess

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"
BIG = "x" * 50_000
LIMIT = 2 << 20


async def create(http: Calls, name: str) -> tuple[int, Any]:
    return await http("POST", MAPS, {"metadata": {"name": name}, "data": {"k": BIG}})


async def names(http: Calls) -> list[str]:
    code, answer = await http("GET", MAPS)
    assert code == 200
    return [item["metadata"]["name"] for item in answer["items"]]


async def write_until_refused(http: Calls) -> tuple[list[str], Any]:
    """What was acknowledged, and the refusal."""
    done: list[str] = []
    while True:
        code, answer = await create(http, f"m{len(done):04}")
        if code != 201:
            return done, answer
        done.append(answer["metadata"]["name"])
        assert len(done) < 1000, "never refused"


async def fill_and_free(process: UpProcess, cause: str, free: Callable[[], None]) -> list[str]:
    """Writes until the disk is full, looks around, frees space, writes again.

    Returns what must be there at the end.
    """
    async with process.serving() as http:
        done, refusal = await write_until_refused(http)
        assert done
        assert (refusal["kind"], refusal["code"], refusal["reason"]) == ("Status", 500, "InternalError")
        assert cause in refusal["message"]
        assert await names(http) == done
        async with http.stream(f"{MAPS}?watch=true") as stream:
            watch = lines(stream)
            for name in done:
                assert json.loads(await anext(watch))["object"]["metadata"]["name"] == name
            value = BIG
            for letter in "abcdefgh":  # changes go on with the room that is held, until it is used up
                code, _ = await http(
                    "PATCH",
                    f"{MAPS}/{done[0]}",
                    {"data": {"k": letter * len(BIG)}},
                    {"Content-Type": "application/merge-patch+json"},
                )
                assert code in (200, 500)
                if code == 500:
                    break
                value = letter * len(BIG)
                assert json.loads(await anext(watch))["object"]["data"] == {"k": value}
            assert (await http("GET", f"{MAPS}/{done[0]}"))[1]["data"] == {"k": value}
            free()
            for _ in range(600):  # room is looked for once a second
                code, answer = await create(http, "works")
                if code == 201:
                    break
                await asyncio.sleep(0.1)
            assert code == 201, answer
            assert json.loads(await anext(watch))["object"]["metadata"]["name"] == "works"
    return [*done, "works"]


async def is_there_again(data: Path, expected: list[str]) -> None:
    process = UpProcess(data)
    try:
        async with process.serving() as http:
            assert await names(http) == expected
    finally:
        process.kill()
    assert "Traceback" not in process.said()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "size=6m") as disk:
        yield disk


@pytest.mark.parametrize("durability", ["normal", "full"])
async def test_a_full_disk_refuses_writes_until_there_is_room(disk: Path, durability: str) -> None:
    other = disk / "other"
    other.write_bytes(bytes(3 << 20))
    process = UpProcess(disk / "data", "--durability", durability)
    try:
        expected = await fill_and_free(process, "disk with the data directory is full", other.unlink)
    finally:
        process.kill()
    await is_there_again(disk / "data", expected)


async def test_a_system_that_refuses_to_write_is_no_different(tmp_path: Path) -> None:
    endless = resource.RLIM_INFINITY
    process = UpProcess(
        tmp_path / "data", before=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (LIMIT, endless))
    )
    try:
        expected = await fill_and_free(
            process,
            "could not be journalled and was not made",
            lambda: resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (endless, endless)) and None,
        )
    finally:
        process.kill()
    await is_there_again(tmp_path / "data", expected)


def take_all_room(filler: Path) -> None:
    subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4096"], capture_output=True)


async def test_a_start_on_a_full_disk_says_so(disk: Path, tmp_path: Path) -> None:
    process = UpProcess(disk / "data")
    async with process.serving() as http:
        await create(http, "kept")
    process.kill()
    filler = disk / "filler"
    (disk / "data" / "reserve").unlink()  # with it, a start has room
    take_all_room(filler)
    refused = UpProcess(disk / "data", log=tmp_path / "log")
    assert refused.wait() == 1
    assert "space" in refused.said()
    assert str(disk / "data") in refused.said()
    assert "Traceback" not in refused.said()
    filler.unlink()
    await is_there_again(disk / "data", ["kept"])
