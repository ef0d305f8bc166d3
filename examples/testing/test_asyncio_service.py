"""An asyncio service on `kubernetes_asyncio` that runs several Jobs at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from kubernetes_asyncio import client, config, watch

from longshore.testing import Cluster, Exit

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

# ---- the code under test


async def run_all(names: list[str]) -> dict[str, bool]:
    """Runs a Job for each name, all at once; whether each went well."""
    await config.load_kube_config()
    async with client.ApiClient() as connection:
        batch = client.BatchV1Api(connection)
        return dict(zip(names, await asyncio.gather(*(_run(batch, name) for name in names)), strict=True))


async def _run(batch: Any, name: str) -> bool:
    container = {"name": "main", "image": "example.org/work"}
    spec = {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    await batch.create_namespaced_job("default", {"metadata": {"name": name}, "spec": spec})
    async with watch.Watch() as changes:
        selected = f"metadata.name={name}"
        async for event in changes.stream(batch.list_namespaced_job, "default", field_selector=selected):
            for condition in event["object"].status.conditions or ():
                if condition.type in ("Complete", "Failed"):
                    return bool(condition.type == "Complete")
    raise RuntimeError("the watch ended")


# ---- its test


async def test_each_job_is_followed_to_its_own_end(longshore: Cluster) -> None:
    longshore.pods.script("wool", Exit(0, after="10m"))
    longshore.pods.script("silk", Exit(1, after="20m"))
    with longshore.environ(), longshore.clock.flowing(speed=6000):
        assert await run_all(["wool", "silk"]) == {"wool": True, "silk": False}
