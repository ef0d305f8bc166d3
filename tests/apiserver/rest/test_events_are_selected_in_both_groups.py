"""Field selectors of Events find the same objects in both groups, each by the names of its own group."""

from __future__ import annotations

import asyncio

import pytest

from support.api_in_memory import Server, api_in_memory

CORE = "/api/v1/namespaces/default/events"
NEW = "/apis/events.k8s.io/v1/namespaces/default/events"


async def two_events(server: Server) -> None:
    """Events `first` and `second`, of two Jobs and two controllers."""
    for name in ("first", "second"):
        about = {"kind": "Job", "namespace": "default", "name": f"job-{name}", "uid": f"uid-{name}"}
        event = {"metadata": {"name": name}, "involvedObject": about, "reportingComponent": f"by-{name}"}
        assert (await server.send("POST", CORE, event)).code == 201


@pytest.mark.parametrize(
    ("path", "selector", "names"),
    [
        (CORE, "involvedObject.name=job-first", ["first"]),
        (NEW, "regarding.name=job-first", ["first"]),
        (NEW, "regarding.uid!=uid-first", ["second"]),
        (NEW, "regarding.kind=Job,reportingController=by-second", ["second"]),
        (NEW, "reportingController=", []),
    ],
)
def test_a_list_has_what_the_selector_names(path: str, selector: str, names: list[str]) -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            await two_events(server)
            found = (await server.send("GET", path, fieldSelector=selector)).body["items"]
            assert [event["metadata"]["name"] for event in found] == names

    asyncio.run(play())


def test_a_deletecollection_spares_what_the_selector_excludes() -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            await two_events(server)
            assert (await server.send("DELETE", NEW, fieldSelector="regarding.name!=job-first")).code == 200
            left = (await server.send("GET", CORE)).body["items"]
            assert [event["metadata"]["name"] for event in left] == ["first"]

    asyncio.run(play())
