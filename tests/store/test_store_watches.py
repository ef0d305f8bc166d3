"""Watches: order, scope, resuming, falling behind, ending."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from longshore.store import Compacted, Limits, Store, Watch, WatchOverflow
from store.store_support import key, nothing_more, opened, put, read, remove, thing, told, value


def test_a_watch_tells_every_change_in_order_with_what_it_replaced() -> None:
    async def run() -> None:
        async with opened(None) as store:
            watch = store.watch("pods")
            await put(store, "a", 1)
            await put(store, "a", 2)
            await remove(store, "a")
            await put(store, "a", 3)
            events = await read(watch, 4)
            assert [told(event) for event in events] == [
                (2, "ADDED", "a"), (3, "MODIFIED", "a"), (4, "DELETED", "a"), (5, "ADDED", "a"),
            ]  # fmt: skip
            assert [value(event.previous) for event in events] == [None, 1, 2, None]
            assert [value(event.entry) for event in events] == [1, 2, 2, 3]
            assert events[2].entry.obj["metadata"]["resourceVersion"] == "4"

    asyncio.run(run())


def test_nothing_is_told_before_it_is_durable(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path, durability="full") as store:
            watch = store.watch("pods")
            staged = store.stage(key("a"), thing("a"))
            next_batch = asyncio.ensure_future(anext(watch))
            await asyncio.sleep(0)
            assert not next_batch.done()
            await staged.done()
            assert [told(event) for event in await next_batch] == [(2, "ADDED", "a")]

    asyncio.run(run())


def test_a_watch_sees_its_storage_and_namespace_alone() -> None:
    async def run() -> None:
        async with opened(None) as store:
            everywhere, here = store.watch("pods"), store.watch("pods", "here")
            cluster, jobs = store.watch("nodes", ""), store.watch("jobs")
            await put(store, "", at=key("x", "here"))
            await put(store, "", at=key("y", "there"))
            await put(store, "", at=key("z", "", "nodes"))
            assert [event.key.name for event in await read(everywhere, 2)] == ["x", "y"]
            assert [event.key.name for event in await read(here, 1)] == ["x"]
            assert [event.key.name for event in await read(cluster, 1)] == ["z"]
            for watch in (everywhere, here, cluster, jobs):
                assert await nothing_more(watch)

    asyncio.run(run())


def test_watchers_of_the_same_thing_share_one_list_per_commit() -> None:
    async def run() -> None:
        async with opened(None) as store:
            watches = [store.watch("pods") for _ in range(3)]
            for name in "abc":
                store.stage(key(name), thing(name))
            batches = [await anext(watch) for watch in watches]
            assert [told(event)[2] for event in batches[0]] == ["a", "b", "c"]
            assert batches[0] is batches[1] is batches[2]

    asyncio.run(run())


def test_a_watch_resumes_from_any_revision_in_the_window_without_gap_or_repetition() -> None:
    async def run() -> None:
        async with opened(None) as store:
            for number in range(10):
                await put(store, f"p{number % 3}", number)
            for since in range(store.oldest - 1, store.revision + 1):
                watch = store.watch("pods", None, since)
                await put(store, "live", since)
                events = await read(watch, store.revision - since)
                assert [event.revision for event in events] == list(range(since + 1, store.revision + 1))
                watch.close()

    asyncio.run(run())


def test_a_watch_from_a_revision_out_of_the_window_is_refused() -> None:
    async def run() -> None:
        async with opened(None, limits=Limits(window_events=5)) as store:
            for number in range(20):
                await put(store, f"p{number}")
            assert len(await read(store.watch("pods", None, store.oldest - 1), 5)) == 5
            with pytest.raises(Compacted) as gone:
                store.watch("pods", None, store.oldest - 2)
            assert gone.value.oldest == store.revision - 4

    asyncio.run(run())


def test_the_window_is_bounded_by_bytes_too() -> None:
    async def run() -> None:
        async with opened(None, limits=Limits(window_bytes=20_000)) as store:
            for number in range(50):
                await put(store, f"p{number}", "x" * 1000)
            assert 15 <= store.revision + 1 - store.oldest <= 20

    asyncio.run(run())


def test_a_watch_from_a_revision_still_to_come_starts_behind_it() -> None:
    async def run() -> None:
        async with opened(None) as store:
            watch = store.watch("pods", None, store.revision + 2)
            for name in "abcd":
                store.stage(key(name), thing(name))
            assert [told(event) for event in await read(watch, 2)] == [(4, "ADDED", "c"), (5, "ADDED", "d")]

    asyncio.run(run())


@pytest.mark.parametrize(
    "limits", [Limits(lag_events=20), Limits(lag_bytes=20 * 80)], ids=["events", "bytes"]
)
def test_a_watcher_that_falls_behind_is_cut_off_and_the_others_are_not(limits: Limits) -> None:
    async def run() -> None:
        async with opened(None, limits=limits) as store:
            slow, quick = store.watch("pods"), store.watch("pods")
            for number in range(40):
                await put(store, f"p{number}")
                await put(store, f"q{number}")
                await read(quick, 2)
            with pytest.raises(WatchOverflow):
                await anext(slow)
            with pytest.raises(WatchOverflow):
                await anext(slow)
            await put(store, "more")
            assert len(await read(quick, 1)) == 1
            assert len(store._hub) == 1
            slow.close()

    asyncio.run(run())


def test_a_long_replay_does_not_count_as_falling_behind() -> None:
    async def run() -> None:
        async with opened(None, limits=Limits(lag_events=20)) as store:
            for number in range(200):
                await put(store, f"p{number}")
            watch = store.watch("pods", None, 1)
            await put(store, "live")
            assert len(await read(watch, 201)) == 201

    asyncio.run(run())


def test_a_waiting_watcher_can_be_cancelled_and_go_on() -> None:
    async def run() -> None:
        async with opened(None) as store:
            watch = store.watch("pods")
            assert await nothing_more(watch)
            await put(store, "a")
            assert len(await read(watch, 1)) == 1

    asyncio.run(run())


def test_closing_a_watch_ends_its_iteration_and_frees_it() -> None:
    async def run() -> None:
        async with opened(None) as store:
            watch = store.watch("pods")
            reading = asyncio.ensure_future(_all_of(watch))
            await asyncio.sleep(0)
            watch.close()
            watch.close()
            assert await reading == []
            assert len(store._hub) == 0
            await put(store, "a")

    asyncio.run(run())


def test_closing_the_store_ends_every_watch_after_the_last_event() -> None:
    async def run() -> None:
        store = Store.open(None)
        watch, idle = store.watch("pods"), store.watch("jobs")
        store.stage(key("a"), thing("a"))
        reading = asyncio.gather(_all_of(watch), _all_of(idle))
        await store.close()
        async with asyncio.timeout(60):
            assert list(await reading) == [["a"], []]

    asyncio.run(run())


async def _all_of(watch: Watch) -> list[str]:
    return [event.key.name async for batch in watch for event in batch]


def test_changes_are_handed_over_in_order_and_the_end_still_comes_to_who_waits() -> None:
    async def run() -> None:
        async with opened(None) as store:
            watch = store.watch("pods")
            await put(store, "before", 1)
            taken: list[tuple[int, str, str]] = []
            watch.hand_to(lambda events: taken.extend(map(told, events)))
            assert [told(event) for event in await anext(watch)] == [(2, "ADDED", "before")]
            waiting = asyncio.ensure_future(anext(watch))
            await asyncio.sleep(0)
            for n in range(3):
                await put(store, "a", n)
            await asyncio.sleep(0)
            assert taken == [(3, "ADDED", "a"), (4, "MODIFIED", "a"), (5, "MODIFIED", "a")]
            assert not waiting.done()
            watch.nudge()
            assert await waiting == []
            await put(store, "a", 3)
            assert [told(event) for event in await anext(watch)] == [(6, "MODIFIED", "a")], "nobody waited"
            waiting = asyncio.ensure_future(anext(watch))
            await asyncio.sleep(0)
            watch.close()
            with pytest.raises(StopAsyncIteration):
                await waiting
            await put(store, "a", 4)
            await asyncio.sleep(0)
            assert len(taken) == 3, "a watch that is closed tells nothing"

    asyncio.run(run())
