"""Carries out a plan. State is written by apply, so that nobody else's part of the status is touched."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.volcano.queue.decide import MARK, ROOT, Plan

MANAGER: Final = "queue-controller"


async def act(plan: Plan, queue: Obj, client: Client) -> None:
    """All writes of a plan, in its order. A queue in state Closing takes none but that of its state."""
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
