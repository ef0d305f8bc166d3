"""Objects by name and by index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longshore.api.types import Obj, decode, encode
from longshore.machinery.informers.cache import Cache, key_of
from machinery.scripted_api import obj


def colours(thing: Obj) -> list[str]:
    out: list[str] = thing["metadata"].get("colours") or []
    return out


def put(cache: Cache, thing: Obj) -> None:
    key = key_of(thing)
    cache.put(key, thing)


def test_an_object_is_found_by_its_name_and_is_the_very_object() -> None:
    cache, a = Cache(), obj("a", 1)
    put(cache, a)
    assert cache.get("ns", "a") is a
    assert cache.get("ns", "b") is None
    assert cache.get("other", "a") is None
    newer = obj("a", 2)
    put(cache, newer)
    assert cache.get("ns", "a") is newer
    assert len(cache) == 1
    cache.remove(("other", "a"))
    assert len(cache) == 1
    for _ in range(2):
        cache.remove(("ns", "a"))
        assert len(cache) == 0


def test_lists_are_of_everything_or_of_one_namespace_in_the_order_first_seen() -> None:
    cache = Cache()
    for thing in (obj("b", 1), obj("a", 2), obj("c", 3, namespace="other"), obj("b", 4)):
        put(cache, thing)
    assert [key_of(o) for o in cache.list()] == [("ns", "b"), ("ns", "a"), ("other", "c")]
    assert [o["metadata"]["name"] for o in cache.list("ns")] == ["b", "a"]
    assert cache.list("nowhere") == []


def test_a_list_stays_as_it_was_when_the_cache_changes() -> None:
    cache = Cache({"colour": colours})
    put(cache, obj("a", 1, colours=["red"]))
    before, red = cache.list(), cache.by_index("colour", "red")
    cache.remove(("ns", "a"))
    assert len(before) == len(red) == 1


def test_an_index_follows_its_objects() -> None:
    cache = Cache({"colour": colours})
    put(cache, obj("a", 1, colours=["red", "blue"]))
    put(cache, obj("b", 2, colours=["red"]))
    assert [o["metadata"]["name"] for o in cache.by_index("colour", "red")] == ["a", "b"]
    assert cache.index_size("colour", "red") == 2
    assert sorted(cache.index_keys("colour")) == ["blue", "red"]
    newer = obj("a", 3, colours=["blue", "green"])
    put(cache, newer)
    assert [o["metadata"]["name"] for o in cache.by_index("colour", "red")] == ["b"]
    assert cache.by_index("colour", "blue") == cache.by_index("colour", "green") == [newer]
    cache.remove(("ns", "a"))
    assert cache.by_index("colour", "green") == []
    assert cache.index_keys("colour") == ["red"]


def test_an_index_added_late_has_what_is_there() -> None:
    cache = Cache()
    put(cache, obj("a", 1, colours=["red"]))
    cache.add_index("colour", colours)
    cache.add_index("colour", colours)
    assert cache.index_size("colour", "red") == 1
    with pytest.raises(ValueError, match="index 'colour' is defined already"):
        cache.add_index("colour", lambda _: ())
    with pytest.raises(KeyError):
        cache.by_index("size", "large")


class Parcel:
    """An object as JSON."""

    def __init__(self, thing: Obj) -> None:
        self._raw = encode(thing)

    @property
    def obj(self) -> Obj:
        thing: Obj = decode(self._raw)
        return thing


def test_an_object_that_is_held_packed_is_there_for_all_who_ask() -> None:
    cache, a = Cache({"colour": colours}), obj("a", 1, colours=["red"])
    cache.put(("ns", "a"), a, Parcel(a))
    put(cache, obj("b", 2, colours=["red"]))
    assert cache.get("ns", "a") == a
    assert cache.get("ns", "a") is not a
    assert [key_of(o) for o in cache.list("ns")] == [key_of(o) for o in cache] == [*cache.all_keys()]
    assert [key_of(o) for o in cache.by_index("colour", "red")] == [("ns", "a"), ("ns", "b")]
    assert cache.index_members("colour", "red") == [("ns", "a"), ("ns", "b")]
    assert [key_of(o) for o in cache.unpacked("ns")] == [("ns", "b")]
    cache.add_index("paint", lambda thing: colours(thing))
    assert cache.by_index("paint", "red")[0] == a
    cache.remove(("ns", "a"))
    assert cache.get("ns", "a") is None


changes = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.none() | st.lists(st.sampled_from(["red", "blue"]), unique=True),
        st.booleans(),
    )
)


@given(changes)
def test_an_index_is_always_what_a_search_would_find(
    steps: list[tuple[str, list[str] | None, bool]],
) -> None:
    cache = Cache({"colour": colours})
    for version, (name, painted, packs) in enumerate(steps):
        if painted is None:
            cache.remove(("ns", name))
        else:
            thing = obj(name, version, colours=painted)
            cache.put(key_of(thing), thing, Parcel(thing) if packs else None)
        for colour in ("red", "blue"):
            found = {key_of(o) for o in cache.by_index("colour", colour)}
            assert found == {key_of(o) for o in cache if colour in colours(o)}
            assert all(o == cache.get(*key_of(o)) for o in cache.by_index("colour", colour))
    assert set(cache.index_keys("colour")) == {c for o in cache for c in colours(o)}
