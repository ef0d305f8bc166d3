"""A whole API in memory on the virtual clock, for tests of what is built on a client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from longshore.apiserver.api import Api, ApiParts
from longshore.client.local import LocalClient
from longshore.machinery.time.virtual import VirtualClock
from longshore.store import Store

MAPS = ("v1", "ConfigMap")
PODS = ("v1", "Pod")
JOBS = ("batch/v1", "Job")
EVENTS = ("v1", "Event")


@asynccontextmanager
async def api(clock: VirtualClock, *, shortcuts: bool = True) -> AsyncIterator[LocalClient]:
    """A client of an API that has the namespace `ns` with its default account."""
    store = Store.open(None)
    server = Api(ApiParts(store, clock, clock.rng, shortcuts=shortcuts))
    client = LocalClient(server)
    await client.create(("v1", "Namespace"), {"metadata": {"name": "ns"}})
    await client.create(("v1", "ServiceAccount"), {"metadata": {"name": "default"}}, "ns")
    try:
        yield client
    finally:
        await store.close()


def pod(name: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def job(name: str) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"template": template}}
