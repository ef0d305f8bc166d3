"""Watches mean the same on both engines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.client import Client, WatchEvent

pytestmark = pytest.mark.anyio

MAPS = ("v1", "ConfigMap")


def config_map(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "labels": labels}}


def short(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.object["metadata"].get("name", "")) for event in events]


async def first(count: int, client: Client, **options: Any) -> list[WatchEvent]:
    """So many events of a watch over ConfigMaps."""
    seen: list[WatchEvent] = []
    async with asyncio.timeout(10), client.watch(MAPS, "default", **options) as events:
        async for event in events:
            seen.append(event)
            if len(seen) == count:
                break
    return seen


async def test_changes_after_a_version_come_in_order_and_without_type(client: Client) -> None:
    await client.create(MAPS, config_map("before"))
    version = (await client.list(MAPS, "default")).resource_version
    await client.create(MAPS, config_map("a"))
    await client.patch(MAPS, "a", {"data": {"x": "1"}}, "default")
    await client.delete(MAPS, "a", "default")
    events = await first(3, client, resource_version=version)
    assert short(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert "kind" not in events[0].object
    versions = [int(event.resource_version) for event in events]
    assert versions == sorted(versions)
    assert versions[0] > int(version)


async def test_a_watch_resumes_from_any_event(client: Client) -> None:
    version = (await client.list(MAPS, "default")).resource_version
    for name in ("a", "b", "c"):
        await client.create(MAPS, config_map(name))
    (event,) = await first(1, client, resource_version=version)
    assert short(await first(2, client, resource_version=event.resource_version)) == [
        ("ADDED", "b"),
        ("ADDED", "c"),
    ]


async def test_live_changes_arrive(client: Client) -> None:
    version = (await client.list(MAPS, "default")).resource_version
    watching = asyncio.create_task(first(1, client, resource_version=version))
    await asyncio.sleep(0.02)
    await client.create(MAPS, config_map("live"))
    assert short(await watching) == [("ADDED", "live")]


async def test_what_exists_comes_first_and_a_bookmark_ends_it(client: Client) -> None:
    await client.create(MAPS, config_map("a"))
    events = await first(2, client, initial_events=True)
    assert short(events) == [("ADDED", "a"), ("BOOKMARK", "")]
    assert [event.ends_initial_events for event in events] == [False, True]
    assert int(events[1].resource_version) >= int(events[0].resource_version)


async def test_a_selector_turns_changes_into_coming_and_going(client: Client) -> None:
    version = (await client.list(MAPS, "default")).resource_version
    await client.create(MAPS, config_map("a", colour="blue"))
    await client.patch(MAPS, "a", {"metadata": {"labels": {"colour": "red"}}}, "default")
    await client.patch(MAPS, "a", {"metadata": {"labels": {"colour": "blue"}}}, "default")
    events = await first(2, client, resource_version=version, labels="colour=red")
    assert short(events) == [("ADDED", "a"), ("DELETED", "a")]


async def test_a_watch_ends_by_itself_when_its_time_is_up(client: Client) -> None:
    async with asyncio.timeout(10), client.watch(MAPS, "default", timeout=1) as events:
        assert [event.type async for event in events if event.type != "BOOKMARK"] == []


async def test_a_bad_selector_is_refused_when_the_watch_is_opened(client: Client) -> None:
    with pytest.raises(StatusError, match="unable to parse requirement") as caught:
        await first(1, client, labels="a in")
    assert caught.value.code == 400


async def test_many_watches_at_once_see_the_same(client: Client) -> None:
    version = (await client.list(MAPS, "default")).resource_version
    watching = [asyncio.create_task(first(2, client, resource_version=version)) for _ in range(20)]
    await asyncio.sleep(0.02)
    for name in ("a", "b"):
        await client.create(MAPS, config_map(name))
    seen = [short(events) for events in await asyncio.gather(*watching)]
    assert seen == [[("ADDED", "a"), ("ADDED", "b")]] * 20
