"""What only a client in the server's process can do is asked of it, and done without by others."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from longshore.apiserver.api import Api
from longshore.client import in_process
from longshore.client.http import HttpClient
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.store import Store


def test_a_local_client_pipelines_and_creates_together() -> None:
    async def main() -> None:
        store = Store.open(None)
        client = LocalClient(Api(store, clock=RealClock(), rng=random.Random()))
        pipeline, settled = in_process.pipeline(client)
        await pipeline.create(("v1", "Namespace"), {"metadata": {"name": "ns"}})
        assert store.revision == 1  # accepted, and not yet durable
        await settled()
        assert store.revision == 2
        assert in_process.creates_together(client)
        await store.close()

    asyncio.run(main())


def test_other_clients_are_their_own_pipeline_whose_writes_are_durable_when_answered() -> None:
    other: Any = HttpClient.__new__(HttpClient)
    pipeline, settled = in_process.pipeline(other)
    assert pipeline is other
    asyncio.run(settled())
    assert not in_process.creates_together(other)
