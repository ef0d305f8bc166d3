"""The Python in the documentation runs as it stands."""

from __future__ import annotations

import asyncio
import os
import re
import sys

import pytest

from longshore.client import DeleteOptions
from longshore.up.options import Options
from longshore.up.running import running
from support.places import ROOT

PAGE = ROOT / "docs" / "how-to" / "call-it-from-python.md"
JOBS = ("batch/v1", "Job")


def job(name: str) -> dict[str, object]:
    containers = [{"name": "c", "image": "busybox"}]
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.anyio
async def test_the_client_example_lists_and_watches() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    async with running(
        Options(in_memory=True, port=0, controllers=(), node=False, scheduler=False)
    ) as longshore:
        client = longshore.client
        await client.create(JOBS, job("first"), "default")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-u", "-c", code),
            env=os.environ | {"KUBECONFIG": str(longshore.kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"['first']\n"
        await client.create(JOBS, job("second"), "default")
        await client.delete(JOBS, "first", "default", DeleteOptions(propagation="Background"))
        output, _ = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 0
    assert output.splitlines()[0] == b"ADDED second"
