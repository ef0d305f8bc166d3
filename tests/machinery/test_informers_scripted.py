"""An informer follows a resource through everything a server can do to it."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Unreachable
from longshore.client.ask import Page
from longshore.client.projection import WHOLE, Projection
from longshore.client.source import Changed, Unpacked
from longshore.machinery.informers.cache import Indexer
from longshore.machinery.informers.informer import Handler, Informer, Informers, OnChange
from longshore.machinery.informers.reflector import Selection
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside
from machinery.scripted_api import GONE, Scripted, added, bookmark, deleted, modified, obj

MAPS = ("v1", "configmaps")
PODS = ("v1", "pods")


class Heard(Handler):
    """Writes down what it hears, and that the cache was changed before."""

    def __init__(self, informer: Informer) -> None:
        self.log: list[str] = []
        self.informer = informer

    def cached(self, thing: Obj) -> Obj | None:
        return self.informer.cache.get(thing["metadata"]["namespace"], thing["metadata"]["name"])

    def on_add(self, thing: Obj, initial: bool) -> None:
        assert self.cached(thing) is thing
        self.log.append(f"add {_text(thing)}{' initial' if initial else ''}")

    def on_update(self, old: Obj, new: Obj) -> None:
        assert self.cached(new) is new
        self.log.append(f"update {_text(old)} {_text(new)}")

    def on_delete(self, thing: Obj, stale: bool) -> None:
        assert self.cached(thing) is None
        self.log.append(f"delete {_text(thing)}{' stale' if stale else ''}")


def _text(thing: Obj) -> str:
    return f"{thing['metadata']['name']}@{thing['metadata']['resourceVersion']}"


ALL_MAPS = Selection(MAPS)


def follow(
    script: Callable[[], Scripted],
    check: Callable[[VirtualClock, Scripted, Informer, Heard], Awaitable[None]] | None = None,
    *,
    selection: Selection = ALL_MAPS,
    indexers: Mapping[str, Indexer] | None = None,
    **options: Any,
) -> tuple[list[str], Scripted]:
    """What was heard until the script was used up, and the client."""

    async def main(clock: VirtualClock) -> tuple[list[str], Scripted]:
        client = script()
        informer = Informer(client, selection, clock=clock, rng=clock.rng, **options)  # type: ignore[arg-type]
        for name, indexer in (indexers or {}).items():
            informer.cache.add_index(name, indexer)
        heard = Heard(informer)
        informer.add_handler(heard)
        async with beside(informer.run()):
            await client.done.wait()
            if check is not None:
                await check(clock, client, informer, heard)
        return heard.log, client

    return virtual.run(main)


def test_it_lists_and_then_follows_from_there() -> None:
    events = [added("b", 6), modified("b", 7), bookmark(8), deleted("a", 9)]
    heard, client = follow(lambda: Scripted([([obj("a", 3)], "5")], [events]))
    assert heard == ["add a@3 initial", "add b@6", "update b@6 b@7", "delete a@9"]
    assert client.watched_from == ["5", "9"]


def test_the_first_list_is_the_server_s_latest_state() -> None:
    """Not older than what was written before a restart: no resourceVersion is sent."""
    _, client = follow(lambda: Scripted([([], "5")], []))
    assert [options for verb, options in client.asked if verb == "list"] == [
        {"namespace": "", "labels": "", "fields": "", "reads": WHOLE}
    ]


def test_a_list_that_is_older_than_the_server_is_refused() -> None:
    """A cache of the server lags behind: what such a list lacks would be taken for gone."""

    def script() -> Scripted:
        client = Scripted([([obj("a", 3)], "6"), ([obj("a", 3), obj("b", 7)], "7")], [])
        client.newest = "7"
        return client

    heard, client = follow(script)
    assert heard == ["add a@3 initial", "add b@7 initial"]
    assert client.watched_from == ["7"]


def test_a_selection_is_kept_in_lists_and_watches() -> None:
    _, client = follow(lambda: Scripted([([], "5")], []), selection=Selection(MAPS, "ns", "a=b", "c=d"))
    for _, options in client.asked:
        assert {k: options[k] for k in ("namespace", "labels", "fields")} == {
            "namespace": "ns",
            "labels": "a=b",
            "fields": "c=d",
        }


def test_where_the_server_streams_what_exists_nothing_is_listed() -> None:
    events = [added("a", 3), added("b", 2), bookmark(5, ends=True), modified("b", 6)]
    heard, client = follow(lambda: Scripted([], [events], streams=True))
    assert heard == ["add a@3 initial", "add b@2 initial", "update b@2 b@6"]
    assert [verb for verb, _ in client.asked] == ["watch", "watch"]
    assert client.asked[0][1]["initial_events"] is True
    assert client.watched_from == ["6"]


def test_changes_while_the_initial_events_are_sent_are_part_of_them() -> None:
    events = [added("a", 3), added("b", 2), modified("a", 4), deleted("b", 5), bookmark(6, ends=True)]
    heard, _ = follow(lambda: Scripted([], [events], streams=True))
    assert heard == ["add a@4 initial"]


def test_a_stream_that_breaks_off_before_its_end_tells_nothing_and_begins_again() -> None:
    first = [added("a", 3), Unreachable("it is away")]
    again = [added("a", 7), bookmark(8, ends=True)]
    heard, _ = follow(lambda: Scripted([], [first, [added("a", 6), 2], again], streams=True))
    assert heard == ["add a@7 initial"]


def many(version: int) -> list[Any]:
    """More initial events than are passed on together."""
    return [added(f"n{number}", version + number) for number in range(600)]


def test_a_long_first_stream_is_told_as_it_comes_and_the_next_one_sets_it_right() -> None:
    first = [*many(1), Unreachable("it is away")]
    again = [added("n0", 1000), bookmark(1001, ends=True)]
    heard, _ = follow(lambda: Scripted([], [first, again], streams=True))
    told = len([line for line in heard if line.startswith("add")])
    assert 0 < told < 600
    assert heard[:told] == [f"add n{number}@{number + 1} initial" for number in range(told)]
    assert heard[told] == "update n0@1 n0@1000"
    assert heard[told + 1 :] == [f"delete n{number}@{number + 1} stale" for number in range(1, told)]


def test_a_later_stream_that_breaks_off_tells_nothing_however_long_it_is() -> None:
    first = [added("a", 3), bookmark(4, ends=True), GONE]
    broken = [*many(10), Unreachable("it is away")]
    again = [added("a", 1000), bookmark(1001, ends=True)]
    heard, _ = follow(lambda: Scripted([], [first, broken, again], streams=True))
    assert heard == ["add a@3 initial", "update a@3 a@1000"]


def test_a_watch_that_ends_goes_on_from_its_last_event_without_a_pause() -> None:
    async def check(clock: VirtualClock, *_: Any) -> None:
        assert clock.monotonic() == 300

    scripts = [[300, bookmark(7)], [added("a", 8)]]
    heard, client = follow(lambda: Scripted([([], "5")], scripts), check)
    assert client.watched_from == ["5", "7", "8"]
    assert heard == ["add a@8"]


def test_a_watch_asks_to_be_ended_after_five_to_ten_minutes() -> None:
    _, client = follow(lambda: Scripted([([], "5")], [[2]] * 50))
    asked = {options["timeout"] for verb, options in client.asked if verb == "watch"}
    assert len(asked) > 20
    assert min(asked) >= 300
    assert max(asked) <= 600


def test_a_forgotten_version_lists_again_at_once_and_tells_what_differs() -> None:
    lists = [
        ([obj("a", 1), obj("b", 2), obj("c", 3)], "5"),
        ([obj("b", 2), obj("c", 7), obj("d", 8)], "9"),
    ]

    async def check(clock: VirtualClock, *_: Any) -> None:
        assert clock.monotonic() == 60

    heard, client = follow(lambda: Scripted(lists, [[60, GONE]]), check)
    assert heard[3:] == ["update b@2 b@2", "update c@3 c@7", "add d@8", "delete a@1 stale"]
    assert client.watched_from == ["5", "9"]


def test_an_object_that_was_replaced_while_nobody_looked_is_deleted_and_added() -> None:
    lists = [([obj("a", 1)], "5"), ([obj("a", 8, uid="another")], "9")]
    heard, _ = follow(lambda: Scripted(lists, [[60, GONE]]))
    assert heard[1:] == ["delete a@1 stale", "add a@8"]


def test_a_replaced_object_whose_deletion_the_watch_left_out_is_deleted_and_added_too() -> None:
    heard, _ = follow(lambda: Scripted([([obj("a", 1)], "5")], [[added("a", 8, uid="another")]]))
    assert heard[1:] == ["delete a@1 stale", "add a@8"]


def test_events_that_come_twice_are_told_once() -> None:
    events = [modified("a", 6), 1, modified("a", 6), added("a", 6), modified("a", 5), 1, deleted("a", 7)]
    twice = [*events, 1, deleted("a", 7), deleted("never", 3)]
    heard, _ = follow(lambda: Scripted([([obj("a", 1)], "5")], [twice]))
    assert heard == ["add a@1 initial", "update a@1 a@6", "delete a@7"]


def test_an_old_deletion_does_not_remove_the_new_object() -> None:
    events = [deleted("a", 6), added("a", 7, uid="new"), 1, deleted("a", 6)]
    heard, _ = follow(lambda: Scripted([([obj("a", 1)], "5")], [events]))
    assert heard[1:] == ["delete a@6", "add a@7"]


def test_updates_that_come_together_are_told_as_one() -> None:
    events = [modified("a", 6), modified("b", 7), modified("a", 8), modified("a", 9)]
    heard, _ = follow(lambda: Scripted([([obj("a", 1), obj("b", 2)], "5")], [events]))
    assert heard[2:] == ["update a@1 a@9", "update b@2 b@7"]


def test_an_object_that_comes_and_goes_at_once_is_still_told() -> None:
    heard, _ = follow(lambda: Scripted([([], "5")], [[added("a", 6), modified("a", 7), deleted("a", 8)]]))
    assert heard == ["add a@6", "update a@6 a@7", "delete a@8"]


@pytest.mark.parametrize("error", [StatusError(500, "InternalError", "broken"), Unreachable("it is away")])
def test_a_lost_watch_goes_on_where_it_was(error: Exception) -> None:
    scripts = [[added("a", 6), error], [error], [modified("a", 7)]]
    heard, client = follow(lambda: Scripted([([], "5")], scripts))
    assert heard == ["add a@6", "update a@6 a@7"]
    assert client.watched_from == ["5", "6", "6", "7"]
    assert [verb for verb, _ in client.asked].count("list") == 1


def test_a_watch_that_is_refused_lists_again() -> None:
    forbidden = StatusError(403, "Forbidden", "no")
    lists = [([], "5"), forbidden, ([obj("a", 8)], "9")]
    heard, client = follow(lambda: Scripted(lists, [[forbidden]]))
    assert heard == ["add a@8"]
    assert client.watched_from == ["5", "9"]


def test_a_resource_that_does_not_exist_yet_is_waited_for() -> None:
    lists = [LookupError("no such kind"), StatusError(404, "NotFound", "no"), ([obj("a", 8)], "9")]
    heard, _ = follow(lambda: Scripted(lists, []))
    assert heard == ["add a@8 initial"]


def test_a_list_that_begins_anew_between_two_pages_is_told_as_its_whole() -> None:
    pages = [Page([obj("a", 3), obj("b", 4)], "9", "more"), Page([obj("b", 4), obj("c", 8)], "11", anew=True)]
    heard, _ = follow(lambda: Scripted([pages], []))
    assert heard == [
        "add a@3 initial",
        "add b@4 initial",
        "update b@4 b@4",
        "add c@8 initial",
        "delete a@3 stale",
    ]


def test_a_later_list_that_breaks_off_tells_nothing() -> None:
    class Breaking(Scripted):
        async def pages(self, what: Any, **options: Any) -> AsyncIterator[Page]:
            async for page in super().pages(what, **options):
                yield page
                if page.more:
                    raise Unreachable("between two pages")

    broken = [Page([obj("a", 6)], "9", "more")]
    lists = [([obj("a", 3)], "5"), broken, ([obj("a", 7)], "10")]
    heard, _ = follow(lambda: Breaking(lists, [[GONE]]))
    assert heard == ["add a@3 initial", "update a@3 a@7"]


def _pauses(errors: list[Any], between: float = 0.0) -> list[float]:
    """How long the informer waited after each failed list."""

    async def main(clock: VirtualClock) -> list[float]:
        at: list[float] = []

        class Failing(Scripted):
            async def pages(self, what: Any, **options: Any) -> AsyncIterator[Page]:
                at.append(clock.monotonic())
                if between and len(at) > 1:
                    await clock.sleep(between)
                async for page in super().pages(what, **options):
                    yield page

        client = Failing([*errors, ([], "5")], [])
        informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng)  # type: ignore[arg-type]
        async with beside(informer.run()):
            await client.done.wait()
        return [later - earlier for earlier, later in itertools.pairwise(at)]

    return virtual.run(main)


def test_pauses_double_from_800_ms_to_30_s_with_up_to_as_much_again() -> None:
    pauses = _pauses([Unreachable("it is away")] * 9)
    for pause, least in zip(pauses, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30], strict=True):
        assert least <= pause <= 2 * least
    assert len({round(pause % 1, 6) for pause in pauses}) > 5


def test_after_two_calm_minutes_pauses_begin_anew() -> None:
    pauses = _pauses([Unreachable("it is away")] * 4, between=121)
    assert all(0.8 <= pause <= 1.6 for pause in [pauses[0], *(pause - 121 for pause in pauses[1:])])


def test_after_a_watch_that_brought_news_pauses_begin_anew() -> None:
    """Faults half a minute apart, as a bad proxy has them, blind nobody for half a minute."""
    away = Unreachable("it is away")

    async def main(clock: VirtualClock) -> float:
        client = Scripted([([], "5")], [[20, added(f"m{n}", n), away] for n in range(6, 16)])
        informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng)  # type: ignore[arg-type]
        async with beside(informer.run()):
            await client.done.wait()
        return clock.monotonic() - 10 * 20

    assert 10 * 0.8 <= virtual.run(main) <= 10 * 1.6


def test_a_server_that_ends_every_watch_at_once_is_not_hammered() -> None:
    async def main(clock: VirtualClock) -> int:
        client = Scripted([([], "5")], [[]] * 1000)
        informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng)  # type: ignore[arg-type]
        async with beside(informer.run()):
            await clock.sleep(60)
        return len(client.asked)

    assert virtual.run(main) < 10


def test_a_server_that_forgets_every_version_at_once_is_not_hammered() -> None:
    async def main(clock: VirtualClock) -> int:
        client = Scripted([([], "5")] * 1000, [[GONE]] * 1000)
        informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng)  # type: ignore[arg-type]
        async with beside(informer.run()):
            await clock.sleep(60)
        return len(client.asked)

    assert virtual.run(main) < 20


def test_a_forgotten_version_is_logged_as_that(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "longshore.machinery.informers.reflector"):
        follow(lambda: Scripted([([], "5"), ([], "9"), ([], "9")], [[60, GONE], [GONE]]))
    told = [record for record in caplog.records if "too old resource version" in record.getMessage()]
    assert [record.levelname for record in told] == ["INFO", "WARNING"]
    assert told[0].getMessage().endswith("too old resource version; reading everything again")
    assert not any("ends watches at once" in record.getMessage() for record in caplog.records)


def test_what_is_forgotten_between_two_watches_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "longshore.machinery.informers.reflector"):
        follow(lambda: Scripted([([], "5"), ([], "9")], [[60], [GONE]]))
    told = [record for record in caplog.records if "too old resource version" in record.getMessage()]
    assert [record.levelname for record in told] == ["INFO"]


def test_the_cache_knows_how_far_it_is_bookmarks_included() -> None:
    async def check(clock: VirtualClock, client: Scripted, informer: Informer, heard: Heard) -> None:
        assert informer.cache.revision == 12
        assert [o["metadata"]["name"] for o in informer.cache.list()] == ["a"]

    scripts = [[added("a", 6), deleted("b", 7)], [bookmark(12)]]
    follow(lambda: Scripted([([obj("b", 2)], "5")], scripts), check)


def test_one_can_wait_for_a_revision() -> None:
    async def check(clock: VirtualClock, client: Scripted, informer: Informer, heard: Heard) -> None:
        await informer.cache.reached(6)
        waiting = asyncio.create_task(informer.cache.reached(9))
        await clock.sleep(1)
        assert not waiting.done()
        informer.followed.take(Changed([("MODIFIED", Unpacked(obj("a", 9)))], "9"))
        await waiting
        assert heard.log[-1] == "update a@6 a@9"

    follow(lambda: Scripted([([], "5")], [[added("a", 6)]]), check)


def test_synced_means_that_everything_was_cached_and_told() -> None:
    async def main(clock: VirtualClock) -> None:
        many = [obj(f"o{n}", n + 1) for n in range(2000)]
        client = Scripted([(many, "5000")], [])
        informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng)  # type: ignore[arg-type]
        told: list[Obj] = []
        informer.add_handler(OnChange(told.append))
        turns = 0

        async def others() -> None:
            nonlocal turns
            while not informer.has_synced:
                turns += 1
                await clock.sleep(0)

        async with beside(informer.run()), beside(others()):
            await informer.synced()
            assert len(told) == len(informer.cache) == 2000
            assert informer.cache.revision == 5000
        assert turns > 3, "a large list must not hold up the event loop"

    virtual.run(main)


def test_a_resync_tells_every_object_again_and_nothing_else() -> None:
    async def check(clock: VirtualClock, client: Scripted, informer: Informer, heard: Heard) -> None:
        heard.log.clear()
        await clock.sleep(3599)
        assert heard.log == []
        await clock.sleep(2)
        assert heard.log == ["update a@1 a@1", "update b@2 b@2"]
        await clock.sleep(3600)
        assert len(heard.log) == 4

    follow(lambda: Scripted([([obj("a", 1), obj("b", 2)], "5")], []), check, resync=3600)


def test_a_resync_passes_the_same_object_twice() -> None:
    async def check(clock: VirtualClock, client: Scripted, informer: Informer, heard: Heard) -> None:
        same: list[bool] = []

        class Same(Handler):
            def on_update(self, old: Obj, new: Obj) -> None:
                same.append(old is new)

        informer.add_handler(Same())
        await clock.sleep(61)
        assert same == [True]

    follow(lambda: Scripted([([obj("a", 1)], "5")], []), check, resync=60)


def test_a_handler_added_late_hears_what_is_there() -> None:
    async def check(clock: VirtualClock, client: Scripted, informer: Informer, heard: Heard) -> None:
        late = Heard(informer)
        informer.add_handler(late)
        assert late.log == ["add a@1 initial"]
        informer.followed.take(Changed([("MODIFIED", Unpacked(obj("a", 6)))], "6"))
        await clock.sleep(1)
        assert late.log[1:] == heard.log[1:] == ["update a@1 a@6"]

    follow(lambda: Scripted([([obj("a", 1)], "5")], []), check)


def test_a_handler_that_fails_does_not_take_the_change_from_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main(clock: VirtualClock) -> list[str]:
        class Broken(Handler):
            def on_add(self, thing: Obj, initial: bool) -> None:
                raise RuntimeError("a bug")

        client = Scripted([([obj("a", 1)], "5")], [])
        informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng)  # type: ignore[arg-type]
        heard = Heard(informer)
        informer.add_handler(Broken())
        informer.add_handler(heard)
        async with beside(informer.run()):
            await informer.synced()
        return heard.log

    with caplog.at_level(logging.ERROR):
        assert virtual.run(main) == ["add a@1 initial"]
    assert "a handler failed" in caplog.text
    assert "a bug" in caplog.text


def test_no_handler_is_called_after_the_informer_was_stopped() -> None:
    async def main(clock: VirtualClock) -> list[str]:
        client = Scripted([([], "5")], [])
        informer = Informer(client, Selection(MAPS), clock=clock, rng=clock.rng, resync=10)  # type: ignore[arg-type]
        heard = Heard(informer)
        informer.add_handler(heard)
        async with beside(informer.run()):
            await informer.synced()
        informer.followed.take(Changed([("ADDED", Unpacked(obj("a", 6)))], "6"))
        await clock.sleep(60)
        return heard.log

    assert virtual.run(main) == []


def test_indexes_are_kept() -> None:
    async def check(clock: VirtualClock, client: Scripted, informer: Informer, heard: Heard) -> None:
        assert [_text(o) for o in informer.cache.by_index("owner", "me")] == ["b@7"]

    def owner(thing: Obj) -> list[str]:
        return [thing["metadata"]["owner"]] if "owner" in thing["metadata"] else []

    script = [[added("b", 6), modified("b", 7, owner="me"), modified("a", 8, owner="you")]]
    follow(lambda: Scripted([([obj("a", 1, owner="me")], "5")], script), check, indexers={"owner": owner})


def test_a_projection_decides_what_is_kept() -> None:
    async def check(clock: VirtualClock, client: Scripted, informer: Informer, heard: Heard) -> None:
        assert all("labels" not in o["metadata"] for o in informer.cache.list())

    script = [[added("b", 6, labels={}), 1, modified("a", 7, labels={}), 1, deleted("b", 8, labels={})]]
    heard, _ = follow(lambda: Scripted([([obj("a", 1, labels={})], "5")], script), check, reads=Projection())
    assert heard == ["add a@1 initial", "add b@6", "update a@1 a@7", "delete b@8"]


def test_informers_of_one_process_follow_a_selection_together() -> None:
    async def main(clock: VirtualClock) -> tuple[list[str], list[str], list[str], bool]:
        client = Scripted([([obj("a", 4)], "5")], [])
        process = Informers(client, clock=clock, rng=clock.rng)  # type: ignore[arg-type]
        one, other = (process.share().get(MAPS) for _ in range(2))
        assert one.cache is other.cache
        first, second = Heard(one), Heard(other)
        one.add_handler(first)
        other.add_handler(second)
        async with beside(one.run()):
            async with beside(other.run()):
                await other.synced()
            one.followed.take(Changed([("ADDED", Unpacked(obj("b", 6)))], "6"))
            await clock.sleep(1)
            late = process.share().get(MAPS)
            third = Heard(late)
            late.add_handler(third)
        after = process.share().get(MAPS)
        return first.log, second.log, third.log, after.cache is not one.cache

    first, second, third, afresh = virtual.run(main)
    assert first == ["add a@4 initial", "add b@6"]
    assert second == ["add a@4 initial"]  # it had stopped before b came, which the other one heard
    assert third == ["add a@4 initial", "add b@6 initial"]
    assert afresh  # the watch ended with its last user


def test_who_reads_no_more_than_the_process_shares_its_cache_and_others_keep_to_themselves() -> None:
    async def main(clock: VirtualClock) -> None:
        client = Scripted([], [])
        process = Informers(client, clock=clock, rng=clock.rng, reads={PODS: WHOLE})  # type: ignore[arg-type]
        names = Projection()
        pods = process.share().get(PODS)
        assert process.share().get(PODS, reads=names).cache is pods.cache
        maps = process.share().get(MAPS)
        assert process.share().get(MAPS, reads=names).cache is not maps.cache

    virtual.run(main)
