"""Lists: order, scope, the past, and the room they take."""

from __future__ import annotations

import asyncio
import random

import pytest

from longshore.store import Compacted, FutureRevision, Key, Limits, Store
from store.store_support import key, names, opened, put, remove, thing, value


def places(store: Store, storage: str, namespace: str | None = None) -> list[tuple[str, ...]]:
    return [entry.key.place for entry in store.list(storage, namespace)]


def test_a_list_is_in_order_of_namespace_and_name_however_objects_come_and_go() -> None:
    async def run() -> None:
        dice = random.Random(7)
        there: set[Key] = set()
        async with opened(None) as store:
            for step in range(2000):
                where = key(f"p{dice.randrange(60)}", dice.choice("cab"), dice.choice(("pods", "jobs")))
                if where in there and dice.random() < 0.5:
                    await remove(store, "", at=where)
                    there.remove(where)
                else:
                    await put(store, "", step, at=where)
                    there.add(where)
                if step % 7 == 0:
                    for storage in ("pods", "jobs"):
                        expected = sorted(where.place for where in there if where.storage == storage)
                        assert places(store, storage) == expected
                        assert places(store, storage, "a") == [place for place in expected if place[0] == "a"]

    asyncio.run(run())


def test_lists_do_not_mix_storages_and_namespaces() -> None:
    async def run() -> None:
        async with opened(None) as store:
            for where in (key("x", "a"), key("x", "b"), key("x", "a", "batch/jobs"), key("x", "", "nodes")):
                await put(store, "", at=where)
            assert places(store, "pods") == [("a", "x"), ("b", "x")]
            assert places(store, "pods", "b") == [("b", "x")]
            assert places(store, "nodes") == places(store, "nodes", "") == [("", "x")]
            assert places(store, "secrets") == places(store, "pods", "c") == []
            assert store.counts() == {"pods": 2, "batch/jobs": 1, "nodes": 1}

    asyncio.run(run())


def test_a_list_stays_as_it_was_when_objects_change() -> None:
    async def run() -> None:
        async with opened(None) as store:
            await put(store, "a", 1)
            snapshot = store.list("pods")
            await put(store, "a", 2)
            await put(store, "b", 2)
            assert [(entry.key.name, value(entry)) for entry in snapshot] == [("a", 1)]
            assert snapshot.revision == 2

    asyncio.run(run())


def test_a_list_of_an_older_revision_is_what_it_was_then() -> None:
    async def run() -> None:
        async with opened(None) as store:
            await put(store, "b", 1)
            await put(store, "c", 1)
            then = store.revision
            await put(store, "a", 2)
            await put(store, "b", 2)
            await put(store, "b", 3)
            await remove(store, "c")
            await put(store, "c", 9, at=key("c", "other"))
            past = store.list_at("pods", None, then)
            assert [(entry.key.name, value(entry)) for entry in past] == [("b", 1), ("c", 1)]
            assert past.revision == then
            assert names(store.list_at("pods", "other", then)) == []
            assert names(store.list_at("pods", "default", store.revision)) == ["a", "b"]
            assert names(store.list_at("pods", None, 1)) == []

    asyncio.run(run())


def test_a_revision_still_to_come_or_out_of_the_window_is_refused() -> None:
    async def run() -> None:
        async with opened(None, limits=Limits(window_events=3)) as store:
            for number in range(6):
                await put(store, f"p{number}")
            assert store.oldest == store.revision - 2
            assert len(store.list_at("pods", None, store.oldest - 1)) == 3
            with pytest.raises(Compacted) as gone:
                store.list_at("pods", None, store.oldest - 2)
            assert gone.value.oldest == store.oldest
            with pytest.raises(FutureRevision) as early:
                store.list_at("pods", None, store.revision + 1)
            assert early.value.current == store.revision

    asyncio.run(run())


def test_the_next_page_starts_behind_the_last_entry_even_if_that_is_gone() -> None:
    async def run() -> None:
        async with opened(None) as store:
            for name in "bdf":
                await put(store, name)
            await put(store, "", at=key("a", "other"))
            snapshot = store.list("pods")
            assert [snapshot.after("default", name) for name in "abcdfg"] == [0, 1, 1, 2, 3, 3]
            assert snapshot.after("other", "a") == len(snapshot) == 4

    asyncio.run(run())


def test_only_a_bounded_number_of_objects_is_kept_decoded() -> None:
    async def run() -> None:
        async with opened(None, limits=Limits(decoded_bytes=10_000)) as store:
            for number in range(200):
                await put(store, f"p{number:03}", "x" * 400)
            entries = list(store.list("pods"))
            assert sum(len(entry.raw) for entry in entries if entry._obj is not None) <= 10_000
            assert [value(entry) for entry in entries] == ["x" * 400] * 200
            kept = [entry for entry in entries if entry._obj is not None]
            assert 10 < len(kept) < 30
            assert kept[-1].obj is kept[-1].obj

    asyncio.run(run())


def test_what_others_hold_stays_decoded_while_they_do() -> None:
    async def run() -> None:
        async with opened(None, limits=Limits(decoded_bytes=10_000)) as store:
            for number in range(30):
                await put(store, f"p{number:03}", "x" * 400)
            first, second = list(store.list("pods"))[-2:]
            held = first.obj, second.obj
            for number in range(100):
                await put(store, f"q{number:03}", "x" * 400)
            assert (first.obj, second.obj) == held
            assert first.obj is held[0]
            assert second.obj is held[1], "no second copy was made"
            del held
            for number in range(10):
                await put(store, f"r{number:03}", "x" * 400)
            assert first._obj is second._obj is None

    asyncio.run(run())


def test_also_what_others_hold_is_kept_decoded_within_bounds() -> None:
    async def run() -> None:
        async with opened(None, limits=Limits(decoded_bytes=10_000)) as store:
            held = [(await put(store, f"p{number:03}", "x" * 400)).obj for number in range(200)]
            kept = [entry for entry in store.list("pods") if entry._obj is not None]
            assert 30_000 < sum(len(entry.raw) for entry in kept) <= 40_000
            del held
            for number in range(200):
                await put(store, f"q{number:03}", "x" * 400)
            kept = [entry for entry in store.list("pods") if entry._obj is not None]
            assert sum(len(entry.raw) for entry in kept) <= 10_000

    asyncio.run(run())


def test_replaced_and_deleted_states_do_not_stay_decoded() -> None:
    async def run() -> None:
        async with opened(None) as store:
            old = [await put(store, "a", number) for number in range(3)]
            gone = await put(store, "gone")
            await remove(store, "gone")
            assert [entry._obj is None for entry in (*old, gone)] == [False] * 4, "watchers may still ask"
            held = old[0].obj
            for number in range(600):
                await put(store, "b", number)
            assert [entry._obj is None for entry in (*old, gone)] == [True, True, False, True]
            assert old[0].obj == held

    asyncio.run(run())


def test_the_staged_object_serves_as_the_decoded_view() -> None:
    async def run() -> None:
        async with opened(None) as store:
            obj = thing("a", [1, {"b": None}])
            entry = await store.stage(key("a"), obj).done()
            assert entry.obj is obj

    asyncio.run(run())


def test_keys_of_many_objects_share_their_words() -> None:
    async def run() -> None:
        async with opened(None) as store:
            for name in ("one", "two"):
                await put(store, "", at=Key("".join(["po", "ds"]), "".join(["na", "me"]), name))
            one, two = store.list("pods")
            assert one.key.storage is two.key.storage
            assert one.key.namespace is two.key.namespace

    asyncio.run(run())
