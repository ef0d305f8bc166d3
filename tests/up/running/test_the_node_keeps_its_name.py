"""A node stays itself when its machine gets another name, and when a backup is restored on another machine.

`--node-name` gives the node a name that this machine has not: afterwards this machine is the one that was
renamed, or the other one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.main import main
from longshore.client import Client
from longshore.controllers.podgc import controller
from longshore.up import machine
from longshore.up.options import Options
from longshore.up.running import running

NODES, PODS, JOBS = ("v1", "Node"), ("v1", "Pod"), ("batch/v1", "Job")


def options(directory: Path, name: str = "", **more: object) -> Options:
    return Options(data_dir=directory, port=0, node_name=name, isolation="none", **more)  # type: ignore[arg-type]


def job(name: str, *command: str) -> Obj:
    container = {"name": "c", "image": "i", "command": [*command]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"metadata": {"name": name}, "spec": {"backoffLimit": 5, "template": {"spec": spec}}}


async def until(fact: Callable[[], Awaitable[bool]], what: str) -> None:
    deadline = time.monotonic() + 90
    while not await fact():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.05)


async def phases(client: Client) -> list[tuple[str, str]]:
    pods = (await client.list(PODS, "default")).items
    return [(pod["spec"].get("nodeName", ""), pod["status"]["phase"]) for pod in pods]


async def nodes(client: Client) -> list[str]:
    return [each["metadata"]["name"] for each in (await client.list(NODES)).items]


async def started(directory: Path, name: str) -> None:
    """A longshore whose node has this name, with a Job whose pod runs on when it stops."""
    async with running(options(directory, name)) as first:
        await first.client.create(JOBS, job("long", "sleep", "300"), "default")

        async def runs() -> bool:
            return await phases(first.client) == [(name, "Running")]

        await until(runs, "the pod of the Job runs")


def test_after_a_rename_of_the_machine_the_node_and_its_pods_go_on(tmp_path: Path) -> None:
    async def story() -> None:
        await started(tmp_path, "before")
        assert machine.name() != "before"
        async with running(options(tmp_path, on_stop="kill")) as again:
            assert again.node_name == "before"
            assert await nodes(again.client) == ["before"]
            assert await phases(again.client) == [("before", "Running")], "the same pod, still running"
            await again.client.create(JOBS, job("short", "true"), "default")

            async def complete() -> bool:
                done = await again.client.get(JOBS, "short", "default")
                return bool(done["status"].get("succeeded"))

            await until(complete, "a new Job runs on the only node")

    asyncio.run(story())


def test_a_journal_from_before_names_were_kept_has_its_node_go_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(options(tmp_path, "before")):
            pass
        (tmp_path / "node-name").unlink()
        async with running(options(tmp_path)) as again:
            assert again.node_name == "before"
            assert await nodes(again.client) == ["before"]

    asyncio.run(story())


def test_a_new_name_deletes_the_node_of_the_old_one_and_its_pods_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "_QUARANTINE_SECONDS", 0.0)

    async def story() -> None:
        await started(tmp_path, "before")
        async with running(options(tmp_path, "after", on_stop="kill")) as again:
            assert await nodes(again.client) == ["after"]

            async def moved() -> bool:
                found = await phases(again.client)
                return ("after", "Running") in found and ("before", "Running") not in found

            await until(moved, "the Job's next pod runs on the node of the new name")
            with pytest.raises(StatusError):
                await again.client.get(NODES, "before")
        async with running(options(tmp_path)) as third:
            assert third.node_name == "after", "the option was for once"

    asyncio.run(story())


def test_a_backup_restored_elsewhere_goes_on_as_its_node_and_says_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    backup = str(tmp_path / "backup.tar.gz")
    asyncio.run(started(here, "lost-machine"))
    assert main(["backup", backup, "--data-dir", str(here)]) == 0

    async def other_life() -> None:
        async with running(options(elsewhere, "new-machine")):
            pass

    asyncio.run(other_life())
    capsys.readouterr()
    assert main(["restore", backup, "--data-dir", str(elsewhere)]) == 0
    said = capsys.readouterr().out
    assert "its node is lost-machine, and keeps this name here" in said
    assert "1 of its pods had not ended" in said

    async def story() -> None:
        async with running(options(elsewhere, on_stop="kill")) as again:
            assert again.node_name == "lost-machine"
            assert await nodes(again.client) == ["lost-machine"]

            async def replaced() -> bool:
                found = sorted(await phases(again.client))
                return found == [("lost-machine", "Failed"), ("lost-machine", "Running")]

            await until(replaced, "the pod is reported as lost, and the Job has another one")

    asyncio.run(story())

    async def tidy() -> None:
        async with running(options(here, on_stop="kill")):
            pass

    asyncio.run(tidy())
