"""Watchers share what they have in common, and only that."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from apiserver.limits.wire import MAPS, Wire, serving
from longshore.apiserver.http.fanout import Fanout
from longshore.apiserver.rest.watch import Change, Notice
from longshore.store import Event, Store
from longshore.store.types import Key

pytestmark = pytest.mark.anyio
EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


class Watcher:
    """Reads a watch to its end, which `timeoutSeconds` brings."""

    def __init__(self, wire: Wire, target: str) -> None:
        self._wire, self._target = wire, target

    async def open(self) -> None:
        self._reader, writer = await self._wire.open()
        writer.write(self._wire.head("GET", self._target))
        assert (await self._reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")

    async def documents(self) -> list[Any]:
        text = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            text += (await self._reader.readexactly(size + 2))[:-2]
        return [json.loads(line) for line in text.splitlines()]


async def seen(wire: Wire, targets: list[str], *, at_least: int = 15) -> list[list[Any]]:
    """What watchers of these targets see of some writes; more watch, so that there is reason to pause."""
    targets = targets + [targets[0]] * (at_least - len(targets))
    watchers = [
        Watcher(wire, f"{target}{'&' if '?' in target else '?'}watch=1&timeoutSeconds=1")
        for target in targets
    ]
    for watcher in watchers:
        await watcher.open()
    await asyncio.gather(
        *(
            write(wire, MAPS, f"map-{n}", {"labels": {"parity": "even" if n % 2 == 0 else "odd"}})
            for n in range(20)
        ),
        *(write(wire, EVENTS, f"event-{n}", {}) for n in range(5)),
    )
    return await asyncio.gather(*(watcher.documents() for watcher in watchers))


async def write(wire: Wire, target: str, name: str, metadata: dict[str, Any]) -> None:
    body: dict[str, Any] = {"metadata": {"name": name, "namespace": "default", **metadata}}
    if target == EVENTS:
        body["involvedObject"] = {"kind": "Pod", "name": "a", "namespace": "default"}
    code, answer = await wire.ask("POST", target, json.dumps(body).encode())
    assert code == 201, answer


async def test_all_see_everything_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch) as wire:
        found = await seen(wire, [MAPS])
    assert all(each == found[0] for each in found)
    names = [document["object"]["metadata"]["name"] for document in found[0]]
    assert {f"map-{n}" for n in range(20)} <= set(names)
    versions = [int(document["object"]["metadata"]["resourceVersion"]) for document in found[0][-20:]]
    assert versions == sorted(versions)


async def test_each_sees_what_it_asked_for_and_in_its_form(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = [
        MAPS,
        f"{MAPS}?labelSelector=parity=even",
        f"{MAPS}?labelSelector=parity=odd",
        EVENTS,
        NEW_EVENTS,
    ]
    async with serving(monkeypatch) as wire:
        every, even, odd, old, new, *_ = await seen(wire, targets)
    marked = [d for d in every if "labels" in d["object"]["metadata"]]
    assert [d for d in marked if d["object"]["metadata"]["labels"] == {"parity": "even"}] == even
    assert [d for d in marked if d["object"]["metadata"]["labels"] == {"parity": "odd"}] == odd
    assert {d["object"]["apiVersion"] for d in old} == {"v1"}
    assert {d["object"]["apiVersion"] for d in new} == {"events.k8s.io/v1"}
    assert len(old) == len(new) == 5


async def test_a_bundle_is_rendered_once_for_those_at_the_same_place() -> None:
    rendered: list[Change] = []

    def render(change: Change) -> bytes:
        rendered.append(change)
        return b"%d\n" % (change.revision if isinstance(change, Event) else 0)

    fanout, changes = Fanout(), await events(3)
    assert fanout.chunk("v1", changes, render) == fanout.chunk("v1", list(changes), render)
    assert len(rendered) == 3
    fanout.chunk("v2", changes, render)
    assert len(rendered) == 6, "another version is another text"
    others = [changes[0], changes[2]]
    assert fanout.chunk("v1", others, render) != fanout.chunk("v1", changes[:2], render)
    bookmark = Notice("BOOKMARK", metadata={})
    fanout.chunk("v1", [bookmark], render)
    fanout.chunk("v1", [bookmark], render)
    assert rendered[-2:] == [bookmark, bookmark]


async def events(count: int) -> list[Event]:
    store = Store.open(None)
    watch = store.watch("maps")
    for n in range(count):
        store.stage(Key("maps", "default", f"map-{n}"), {"metadata": {}})
    found: list[Event] = []
    async for batch in watch:
        found += batch
        if len(found) == count:
            break
    await store.close()
    return found


async def test_few_watchers_do_not_pause_and_many_pause_together() -> None:
    fanout = Fanout()
    fanout.watchers = 5
    await asyncio.wait_for(fanout.pause(), 0.001)
    fanout.watchers = 1000
    paused = [asyncio.ensure_future(fanout.pause()) for _ in range(3)]
    await asyncio.sleep(0)
    paused[0].cancel()
    late = asyncio.ensure_future(fanout.pause())
    done, _ = await asyncio.wait((*paused, late), timeout=1)
    assert len(done) == 4
    assert [task.cancelled() for task in (*paused, late)] == [True, False, False, False]
