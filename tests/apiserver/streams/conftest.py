"""A longshore in this process with a running pod that is not really there: its door leads to this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from longshore.apiserver.api import NodeParts
from longshore.up.options import Options
from longshore.up.running import Longshore, running
from support import kubectl_binary
from support.local_door import NODE, LocalDoor

PODS = ("v1", "Pod")
_ALONE = Options(in_memory=True, port=0, controllers=("serviceaccount",), scheduler=False, node=False)


@dataclass
class Result:
    exit: int
    stdout: bytes
    stderr: bytes


class Kubectl(kubectl_binary.Setting):
    """The real one, run from the loop of the server it talks to."""

    async def start(self, *words: str, env: dict[str, str] | None = None) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            self.program,
            *words,
            cwd=self.home,
            env=self.environment(env),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def __call__(self, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Result:
        process = await self.start(*words, env=env)
        try:
            async with asyncio.timeout(20):
                out, err = await process.communicate(stdin)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode is not None
        return Result(process.returncode, out, err)

    async def ok(self, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> bytes:
        result = await self(*words, stdin=stdin, env=env)
        assert result.exit == 0, result
        return result.stdout


@dataclass
class Stage:
    longshore: Longshore
    door: LocalDoor

    async def pod(self, name: str = "p", *containers: str, node: str = NODE) -> None:
        """Makes a pod that says of itself that it runs."""
        client = self.longshore.client
        spec = {
            "containers": [{"name": c, "image": "none"} for c in containers or ("main",)],
            "nodeName": node,
            "automountServiceAccountToken": False,
        }
        await client.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")
        statuses = [
            {
                "name": c,
                "image": "none",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            }
            for c in containers or ("main",)
        ]
        made = await client.get(PODS, name, "default")
        status = {"phase": "Running", "podIP": "127.0.0.1", "containerStatuses": statuses}
        status["conditions"] = [{"type": t, "status": "True"} for t in ("Ready", "ContainersReady")]
        await client.update_status(PODS, {**made, "status": status})


@pytest.fixture
async def stage(anyio_backend: object) -> AsyncIterator[Stage]:
    async with running(_ALONE) as longshore:
        door = LocalDoor()
        longshore.api.use_node(NodeParts(door))
        client = longshore.client
        await client.create(("v1", "Node"), {"metadata": {"name": NODE}})
        async with asyncio.timeout(60):
            while not (await client.list(("v1", "ServiceAccount"), "default")).items:  # noqa: ASYNC110 - made by a controller
                await asyncio.sleep(0.01)
        yield Stage(longshore, door)


@pytest.fixture
def kubectl(stage: Stage, tmp_path: Path) -> Kubectl:
    return Kubectl(tmp_path, stage.longshore.kubeconfig)
