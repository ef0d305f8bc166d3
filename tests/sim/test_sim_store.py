"""The store of a simulation shows what any other store shows, and keeps as bytes what nobody holds."""

from __future__ import annotations

import gc

from longshore.api.types import Obj, decode
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.sim import sim_store
from longshore.sim.sim_store import SimStore
from longshore.store import Compacted, Key, Store

POD = Key("pods", "default", "one")


def _object(name: str, phase: str = "Pending") -> Obj:
    return {"metadata": {"name": name, "namespace": "default"}, "status": {"phase": phase}}


async def _story(store: Store) -> list[object]:
    """All that can be seen of some writes, once they are durable."""
    seen: list[object] = []
    watch = store.watch("pods")
    await store.stage(POD, _object("one")).done()
    await store.stage(Key("pods", "other", "two"), _object("two")).done()
    newest = store.latest(POD)
    assert newest is not None
    await store.stage_update(newest, _object("one", "Running")).done()
    seen.append([(entry.key, entry.revision, entry.raw) for entry in store.list("pods")])
    await store.stage_delete(POD, _object("one", "Running")).done()
    while len([event for event in seen if isinstance(event, tuple)]) < 4:
        batch = await anext(watch)
        assert batch is not None
        seen += [(event.type, event.key, event.revision, event.entry.raw) for event in batch]
    seen.append([(event.type, event.revision) for event in await anext(store.watch("pods", since=2))])
    seen += [store.revision, store.get(POD), store.is_empty("pods"), store.is_empty("batch/jobs")]
    past = store.list_at("pods", None, 3)
    seen.append([(entry.key, entry.raw) for entry in past])
    return seen


def test_it_shows_what_any_other_store_shows() -> None:
    usual = virtual.run(lambda clock: _story(Store.open(None)))
    assert virtual.run(lambda clock: _story(SimStore())) == usual


def test_watchers_are_told_in_a_later_turn_of_the_loop() -> None:
    """Else a controller would hear of its write before it has noted that the write is its own."""

    async def play(clock: VirtualClock) -> list[str]:
        store, order = SimStore(), list[str]()
        watch = store.watch("pods")
        watch.hand_to(lambda events: order.append("told"))
        await clock.sleep(1)
        await store.stage(POD, _object("one")).done()
        order.append("done")
        await clock.sleep(1)
        return order

    assert virtual.run(play)[0] == "done"


def test_what_nobody_holds_is_kept_as_bytes() -> None:
    async def play(clock: VirtualClock) -> None:
        store, many = SimStore(), sim_store._MAX_DECODED_ENTRIES + 10
        held = store.stage(POD, _object("one")).entry.obj
        for number in range(many):
            store.stage(Key("pods", "default", f"pod-{number}"), _object(f"pod-{number}"))
        gc.collect()
        entries = {entry.key.name: entry for entry in store.list("pods")}
        decoded = [entry for entry in entries.values() if entry._obj is not None]
        assert len(decoded) <= sim_store._MAX_DECODED_ENTRIES + 1
        assert entries["one"]._obj is held
        assert entries["pod-0"]._obj is None
        assert entries["pod-0"].obj == decode(entries["pod-0"].raw)
        assert entries["pod-0"].obj["metadata"]["name"] == "pod-0"

    virtual.run(play)


def test_old_changes_are_forgotten() -> None:
    async def play(clock: VirtualClock) -> bool:
        store = SimStore()
        for number in range(2000):
            store.stage(POD, _object("one", f"{number}"))
        try:
            store.watch("pods", since=5)
        except Compacted:
            return True
        return False

    assert virtual.run(play)
