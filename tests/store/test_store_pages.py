"""Pages: the same objects as in the whole list, now and at older revisions, however objects come and go."""

from __future__ import annotations

import asyncio
import random

import pytest

from longshore.store import Compacted, Entry, FutureRevision, Key, Limits, Store
from store.store_support import key, opened, put, remove, thing
from support import growth

pytestmark = pytest.mark.long


def _shown(entries: list[Entry]) -> list[tuple[str, str, int]]:
    return [(*entry.key.place, entry.revision) for entry in entries]


def _check(store: Store, namespace: str | None, start: tuple[str, str], limit: int, then: int) -> None:
    whole = store.list_at("pods", namespace, then)
    rest = [entry for entry in whole if entry.key.place >= start]
    page = store.page_at("pods", namespace, start, limit, then)
    assert (page.revision, _shown(page.entries), page.more) == (
        then,
        _shown(rest[:limit]),
        len(rest) - len(rest[:limit]),
    )
    if then == store.revision:
        page = store.page("pods", namespace, start, limit)
        assert (page.revision, _shown(page.entries)) == (then, _shown(rest[:limit]))


@pytest.mark.parametrize("names", [40, 4000], ids=["few", "many"])
def test_a_page_is_the_part_of_the_list_that_it_names(names: int) -> None:
    async def run() -> None:
        dice = random.Random(names)
        there: set[Key] = set()
        revisions = [1]
        async with opened(None) as store:
            if names > 1000:
                for number in range(names):
                    there.add(key(f"p{number:04d}", dice.choice("cab")))
                for where in there:
                    staged = store.stage(where, thing(where.name))
                await staged.done()
            for step in range(600):
                where = key(f"p{dice.randrange(names):04d}", dice.choice("cab"))
                if where in there and dice.random() < 0.6:
                    await remove(store, "", at=where)
                    there.remove(where)
                else:
                    await put(store, "", step, at=where)
                    there.add(where)
                revisions.append(store.revision)
                if step % 5 == 0:
                    start = (
                        dice.choice(["", *"abcd"]),
                        f"p{dice.randrange(names):04d}" + dice.choice(("", "\0")),
                    )
                    then = dice.choice(revisions[1:][-200:])
                    limit = dice.choice((1, 3, 10, 700, 10_000))
                    for at in (then, store.revision):
                        _check(store, dice.choice((None, *"abc")), start, limit, at)

    asyncio.run(run())


def test_a_page_of_a_revision_that_is_forgotten_or_to_come_is_refused() -> None:
    async def run() -> None:
        async with opened(None, limits=Limits(window_events=2)) as store:
            for step in range(5):
                await put(store, "a", step)
            with pytest.raises(Compacted):
                store.page_at("pods", None, None, 10, 2)
            with pytest.raises(FutureRevision):
                store.page_at("pods", None, None, 10, store.revision + 1)

    asyncio.run(run())


def test_a_page_costs_the_same_in_a_collection_that_is_eight_times_as_large() -> None:
    async def run() -> None:
        stores: dict[int, Store] = {}
        for size in (2500, 2500 * growth.FACTOR):
            store = stores[size] = Store.open(None)
            for number in range(size):
                staged = store.stage(key(f"p{number:06d}"), {"metadata": {"name": "p"}})
            await staged.done()
            store.page("pods", None, None, 1)

        async def pages(size: int) -> None:
            store = stores[size]
            for number in range(300):
                staged = store.stage(key(f"p{number:06d}x"), {"metadata": {"name": "p"}})
                await staged.done()
                store.page("pods", "default", ("default", f"p{number:06d}"), 500)

        ratio = await growth.ratio(lambda size: lambda: pages(size), 2500 * growth.FACTOR)
        assert ratio < growth.FACTOR / 2
        for store in stores.values():
            await store.close()

    asyncio.run(run())
