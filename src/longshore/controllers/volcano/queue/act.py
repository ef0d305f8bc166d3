"""Carries out a plan. Writes the state by server-side apply, which leaves the rest of the status alone."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.volcano.queue.decide import MARK, ROOT, QueuePlan

MANAGER: Final = "queue-controller"


async def act(plan: QueuePlan, queue: Obj, client: Client) -> None:
    """Makes all writes of a plan, in order. A queue in state Closing accepts only a write of its state."""
    name = queue["metadata"]["name"]
    for child in plan.mark_children:
        await _mark(client, child, "true")
    if plan.state is not None:
        state = {"metadata": {"name": name}, "status": {"state": plan.state}}
        await client.apply(kinds.QUEUES, state, manager=MANAGER, force=True, subresource="status")
    if plan.adopt:
        await client.patch(kinds.QUEUES, name, {"spec": {"parent": ROOT}}, manager=MANAGER)
    if plan.mark is not None:
        await _mark(client, name, plan.mark)


async def _mark(client: Client, name: str, value: str) -> None:
    await client.patch(kinds.QUEUES, name, {"metadata": {"annotations": {MARK: value}}}, manager=MANAGER)
