"""A whole API in memory on the virtual clock, for tests of what is built on a client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from longshore.client.local import LocalClient
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import an_api

MAPS = ("v1", "ConfigMap")
PODS = ("v1", "Pod")
JOBS = ("batch/v1", "Job")
EVENTS = ("v1", "Event")


@asynccontextmanager
async def api(clock: VirtualClock, *, shortcuts: bool = True) -> AsyncIterator[LocalClient]:
    """A client of an API that has the namespace `ns` with its default account."""
    async with an_api(clock, shortcuts=shortcuts) as (_, client):
        yield client


def pod(name: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def job(name: str) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"template": template}}
