"""Deletions that ask for dependents to go first or to stay, by the kind of what is deleted."""

from __future__ import annotations

import asyncio

import pytest

from support.api_in_memory import api_in_memory

EVENTS = "/api/v1/namespaces/default/events"
EVENT = {
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    "reason": "R",
    "type": "Normal",
}


@pytest.mark.parametrize("path", [EVENTS, "/apis/events.k8s.io/v1/namespaces/default/events"])
@pytest.mark.parametrize(
    "how", [{"propagationPolicy": "Foreground"}, {"propagationPolicy": "Orphan"}, {"orphanDependents": True}]
)
def test_an_event_goes_at_once_whatever_is_asked_for(path: str, how: dict[str, object]) -> None:
    """Nothing depends on events, and no collector would end the wait."""

    async def play() -> None:
        async with api_in_memory() as server:
            assert (await server.send("POST", EVENTS, EVENT)).code == 201
            gone = await server.send("DELETE", f"{path}/e", how)
            assert (gone.code, gone.body["kind"], gone.body["status"]) == (200, "Status", "Success")
            assert (await server.send("GET", f"{EVENTS}/e")).code == 404

    asyncio.run(play())
