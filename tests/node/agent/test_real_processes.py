"""The agent with the process runtime: pods are processes of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts
from longshore.client.local import LocalClient
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.clock import RealClock
from longshore.node import agent
from longshore.node.preparing.preparer import Preparer
from longshore.node.preparing.types import NodeFacts
from longshore.node.runtimes.process import ProcessRuntime
from longshore.store import Store
from support.node_world import CAPACITY, NODE, NS, PODS, a_pod


class World:
    def __init__(self, client: LocalClient, root: Path) -> None:
        self.client, self.root = client, root

    @asynccontextmanager
    async def agent(self, on_stop: agent.OnStop = "kill") -> AsyncIterator[ProcessRuntime]:
        clock, runtime, ready = RealClock(), ProcessRuntime(self.root / "keeper"), asyncio.Event()
        preparer = Preparer(
            self.client,
            clock=clock,
            root=self.root / "pods",
            server=None,
            node=NodeFacts(NODE),
            in_thread=asyncio.to_thread,
        )
        node = agent.Agent(
            ControllerContext(self.client, clock=clock, rng=random.Random(1)),
            name=NODE,
            runtimes={"process": runtime},
            preparer=preparer,
            root=self.root,
            capacity=CAPACITY,
            in_thread=asyncio.to_thread,
        )
        task = asyncio.create_task(node.run(on_stop=on_stop, ready=ready))
        async with asyncio.timeout(20):
            await ready.wait()
        try:
            yield runtime
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def create(self, script: str = "", **spec: Any) -> Obj:
        pod = a_pod(**spec)
        if script:
            pod["spec"]["containers"][0]["command"] = ["/bin/sh", "-c", script]
        return await self.client.create(PODS, pod, NS)

    async def phase(self, *wanted: str, name: str = "p") -> Obj:
        async with asyncio.timeout(20):
            while True:
                status: Obj = (await self.client.get(PODS, name, NS)).get("status") or {}
                if status.get("phase") in wanted:
                    return status
                await asyncio.sleep(0.02)

    async def gone(self, name: str = "p") -> None:
        async with asyncio.timeout(20):
            while True:
                try:
                    await self.client.get(PODS, name, NS)
                except StatusError:
                    return
                await asyncio.sleep(0.02)

    def log(self, pod: Obj, attempt: int = 0, container: str = "main") -> str:
        meta = pod["metadata"]
        path = self.root / "logs" / f"{NS}_{meta['name']}_{meta['uid']}" / container / f"{attempt}.log"
        return "".join(line.split(" ", 3)[3] for line in path.read_text().splitlines(keepends=True))


def played(story: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        store = Store.open(None)
        client = LocalClient(Api(ApiParts(store, RealClock(), random.Random())))
        for name in (NS, "kube-node-lease"):
            await client.create(("v1", "Namespace"), {"metadata": {"name": name}})
        await client.create(("v1", "ServiceAccount"), {"metadata": {"name": "default"}}, NS)
        with tempfile.TemporaryDirectory(prefix="longshore-node-") as directory:
            world = World(client, Path(directory))
            await story(world)
            await store.close()

    asyncio.run(main())


def ended(status: Obj) -> tuple[int, str]:
    found = status["containerStatuses"][0]["state"]["terminated"]
    return found["exitCode"], found["reason"]


def test_exit_codes_signals_logs_and_last_words_are_those_of_the_process() -> None:
    async def story(world: World) -> None:
        async with world.agent():
            pods = [
                await world.create("echo hello; exit 0", name="well"),
                await world.create("exit 42", name="badly"),
                await world.create("kill -9 $$$$", name="killed"),
                await world.create("kill -15 $$$$", name="asked"),
                await world.create("echo -n over > /dev/termination-log; exit 1", name="words"),
            ]
            assert ended(await world.phase("Succeeded", name="well")) == (0, "Completed")
            assert ended(await world.phase("Failed", name="badly")) == (42, "Error")
            assert ended(await world.phase("Failed", name="killed")) == (137, "Error")
            assert ended(await world.phase("Failed", name="asked")) == (143, "Error")
            words = await world.phase("Failed", name="words")
            assert words["containerStatuses"][0]["state"]["terminated"]["message"] == "over"
            assert world.log(pods[0]) == "hello\n"

    played(story)


def test_init_containers_sidecars_and_main_containers_share_a_volume() -> None:
    mounts = [{"name": "v", "mountPath": "/longshore-test"}]
    side = "echo side >> /longshore-test/f; trap 'exit 0' TERM; while :; do sleep 0.1; done"

    async def story(world: World) -> None:
        async with world.agent():
            pod = await world.create(
                "cat /longshore-test/f",
                initContainers=[
                    {
                        "name": "one",
                        "command": ["sh", "-c", "echo one > /longshore-test/f"],
                        "volumeMounts": mounts,
                    },
                    {
                        "name": "side",
                        "command": ["sh", "-c", side],
                        "restartPolicy": "Always",
                        "volumeMounts": mounts,
                        "startupProbe": {"exec": {"command": ["grep", "side", "/longshore-test/f"]}},
                    },
                ],
                containers=[{"name": "main", "volumeMounts": mounts}],
                volumes=[{"name": "v", "emptyDir": {}}],
            )
            status = await world.phase("Succeeded", "Failed")
            assert status["phase"] == "Succeeded", status
            assert world.log(pod) == "one\nside\n"
            side_status = status["initContainerStatuses"][1]
            assert side_status["state"]["terminated"]["exitCode"] == 0

    played(story)


def test_a_restarted_container_is_a_new_process_with_a_log_of_its_own() -> None:
    async def story(world: World) -> None:
        async with world.agent():
            again = world.root / "again"
            pod = await world.create(
                f"echo run; test -e {again} && exit 0; touch {again}; exit 3", restart="OnFailure"
            )
            status = await world.phase("Succeeded")
            (main,) = status["containerStatuses"]
            assert main["restartCount"] == 1
            assert main["lastState"]["terminated"]["exitCode"] == 3
            assert world.log(pod, 0) == world.log(pod, 1) == "run\n"

    played(story)


def test_a_deleted_pod_gets_its_hook_then_the_stop_signal_and_ends_in_its_own_time() -> None:
    async def story(world: World) -> None:
        async with world.agent():
            order = world.root / "order"
            hook = {"preStop": {"exec": {"command": ["sh", "-c", f"echo hook >> {order}"]}}}
            script = f"trap 'echo term >> {order}; exit 0' TERM; echo up; while :; do sleep 0.05; done"
            await world.create(script, containers=[{"name": "main", "lifecycle": hook}])
            await world.phase("Running")
            await asyncio.sleep(0.2)
            await world.client.delete(PODS, "p", NS)
            await world.gone()
            assert order.read_text() == "hook\nterm\n"

    played(story)


def test_a_command_that_is_not_there_says_so() -> None:
    async def story(world: World) -> None:
        async with world.agent():
            await world.create(
                containers=[{"name": "main", "command": ["/no/such/command"]}],
                annotations={"longshore.dev/fail-unstartable-after": "1s"},
            )
            status = await world.phase("Failed")
            assert status["reason"] == "RunContainerError"
            assert "/no/such/command" in status["message"]

    played(story)


def test_processes_and_their_exit_codes_outlive_the_agent() -> None:
    async def story(world: World) -> None:
        async with world.agent(on_stop="keep") as first:
            await world.create("sleep 0.7; exit 5", name="meanwhile")
            await world.create("sleep 30", name="longer")
            await world.phase("Running", name="meanwhile")
            await world.phase("Running", name="longer")
            keeper = first.keeper_pid
        await asyncio.sleep(0.8)
        async with world.agent(on_stop="kill"):
            assert ended(await world.phase("Failed", name="meanwhile")) == (5, "Error")
            await asyncio.sleep(0.2)
            assert (await world.phase("Running", name="longer"))["containerStatuses"][0]["restartCount"] == 0
        status = await world.phase("Failed", name="longer")
        assert status["reason"] == "Terminated"
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGKILL)

    played(story)
