"""Volcano's queues as they are once the queue controller has seen them, for tests without one."""

from __future__ import annotations

from typing import Any

from longshore.client import Client

QUEUE = ("scheduling.volcano.sh/v1beta1", "Queue")


async def open_queue(client: Client, name: str = "default", state: str = "Open", **spec: Any) -> None:
    await client.create(QUEUE, {"metadata": {"name": name}, "spec": spec})
    await set_state(client, name, state)


async def set_state(client: Client, name: str, state: str, **status: Any) -> None:
    await client.patch(QUEUE, name, {"status": {"state": state, **status}}, subresource="status")
