"""GET of a collection: selectors, snapshots, pages.

A page is found by its first key, whatever the size of the collection. Selectors have to check every object:
they do so in slices, so that a large collection holds up no other request, and they decode no object whose
bytes lack the texts that a match must have.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from longshore.api import errors
from longshore.api.selectors import fields, labels
from longshore.api.types import encode
from longshore.apiserver.answer import Later, ListAnswer, served
from longshore.apiserver.request import options
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import paging, versions
from longshore.store import Compacted, Entry, FutureRevision, Key, Page

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

Predicate = Callable[[Entry], bool]

SLICE_ENTRIES: Final = 512
"""Objects that a selector checks in one turn of the loop: about 10 ms, if each has to be decoded."""

_CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)


def list_(api: Api, call: Call) -> ListAnswer | Later:
    """All matching objects of one snapshot, or one page of them."""
    wanted = options.list_options(call, watch=False)
    if not wanted.continue_:
        asked = versions.parse(wanted.revision, listing=True)
        if asked > api.store.revision:
            return Later(lambda: _then(api, call, wanted, asked))
    return _listed(api, call, wanted)


async def _then(api: Api, call: Call, wanted: options.ListOptions, revision: int) -> ListAnswer:
    await versions.wait_until(api, revision)
    return await _whole(_listed(api, call, wanted))


async def list_whole(api: Api, call: Call) -> ListAnswer:
    """The list, for callers that can wait for it."""
    return await _whole(list_(api, call))


async def _whole(found: ListAnswer | Later) -> ListAnswer:
    if isinstance(found, Later):
        found = cast(ListAnswer, await found.work())
    return found


def _listed(api: Api, call: Call, wanted: options.ListOptions) -> ListAnswer | Later:
    """Makes the list. The store must have the revision that the request asks for."""
    matches = predicate(call, wanted)
    namespace = scope(call)
    revision, start, limit = _where(call, wanted)
    try:
        if limit:
            newest = api.store.revision
            asked = revision if wanted.continue_ and revision is not None else newest
            api.page_ages.check(asked, newest, api.clock.timestamp())
        page = _page(api, call.resource.storage, namespace, revision, start, limit if matches is None else 0)
    except Compacted:
        if wanted.continue_:
            inconsistent = paging.token(-1, Key("", *_before(start)), all_namespaces=namespace is None)
            raise versions.expired(_CONTINUE_TOO_OLD, inconsistent) from None
        raise versions.expired("The resourceVersion for the provided list is too old.") from None
    except FutureRevision as error:
        raise versions.too_large(error.asked, error.current) from None
    answer = ListAnswer(call.resource, page.entries, page.revision)
    if matches is None:
        if page.more:
            _cut(answer, page.more, all_namespaces=namespace is None)
        return answer
    sifting = _Sifting(answer, matches, limit, all_namespaces=namespace is None)
    if len(page.entries) > SLICE_ENTRIES:
        return Later(sifting.in_slices)
    sifting.look(page.entries)
    return sifting.answer()


def _page(
    api: Api,
    storage: str,
    namespace: str | None,
    revision: int | None,
    start: tuple[str, str] | None,
    limit: int,
) -> Page:
    """At most `limit` objects of a snapshot; all of them if it is 0."""
    most = limit or sys.maxsize
    if revision is None:
        return api.store.page(storage, namespace, start, most)
    return api.store.page_at(storage, namespace, start, most, revision)


def _cut(answer: ListAnswer, remaining: int | None, *, all_namespaces: bool) -> None:
    """Sets the continue token for the next page."""
    last = answer.entries[-1].key
    answer.continue_ = paging.token(answer.revision, last, all_namespaces=all_namespaces)
    answer.remaining = remaining


class _Sifting:
    """Selects the matching objects of one snapshot, up to a limit."""

    def __init__(self, answer: ListAnswer, matches: Predicate, limit: int, *, all_namespaces: bool) -> None:
        self._answer, self._matches, self._all_namespaces = answer, matches, all_namespaces
        self._enough = limit + 1 if limit else sys.maxsize
        self._found: list[Entry] = []

    def look(self, entries: list[Entry]) -> bool:
        """Adds the matching ones of `entries`; True once there are enough."""
        self._found += filter(self._matches, entries)
        return len(self._found) >= self._enough

    def answer(self) -> ListAnswer:
        """The answer, with what was found."""
        answer = self._answer
        answer.entries = self._found[: self._enough]
        if len(answer.entries) == self._enough:
            answer.entries.pop()
            _cut(answer, None, all_namespaces=self._all_namespaces)
        return answer

    async def in_slices(self) -> ListAnswer:
        """Checks all objects in slices, and lets other tasks run in between."""
        entries = self._answer.entries
        for at in range(0, len(entries), SLICE_ENTRIES):
            if self.look(entries[at : at + SLICE_ENTRIES]):
                break
            await asyncio.sleep(0)
        return self.answer()


def _before(start: tuple[str, str] | None) -> tuple[str, str]:
    namespace, name = start or ("", "")
    return namespace, name.removesuffix("\0")


def _where(call: Call, wanted: options.ListOptions) -> tuple[int | None, tuple[str, str] | None, int]:
    """The snapshot (None is the newest), the place where the page begins, and its size (0 for all)."""
    limit = max(wanted.limit, 0)
    if wanted.continue_:
        at = paging.position(wanted.continue_, scope(call))
        if wanted.revision not in ("", "0"):
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        return (at.revision if at.revision > 0 else None), at.start, 0 if wanted.revision == "0" else limit
    number = versions.parse(wanted.revision, listing=True)
    if wanted.revision == "0":
        return None, None, 0
    if number and (wanted.match == "Exact" or (limit and not wanted.match)):
        return number, None, limit
    return None, None, limit


def scope(call: Call) -> str | None:
    """The namespace a list covers; None for all of them (and for cluster-scoped kinds)."""
    return call.namespace or None


def predicate(call: Call, wanted: options.ListOptions) -> Predicate | None:
    """The filter of the selectors (and of the name in an old-style watch path); None keeps everything."""
    resource = call.resource
    by_label = labels.parse(wanted.label_selector) if wanted.label_selector else None
    by_field = fields.parse(wanted.field_selector, resource, resource.selectable)
    if by_label is not None and by_label.empty:
        by_label = None
    if by_label is None and by_field.empty:
        return None
    texts = _texts_of(by_label) if by_label is not None and not resource.strategy.converts else ()

    def keeps(entry: Entry) -> bool:
        raw = entry.raw
        for text in texts:
            if text not in raw:
                return False
        obj = served(resource, entry.obj)
        if by_label is not None and not by_label.matches(obj["metadata"].get("labels") or {}):
            return False
        return by_field.matches(obj, entry.key.namespace, entry.key.name)

    return keeps


def _texts_of(selector: labels.Selector) -> tuple[bytes, ...]:
    """Texts that occur in the JSON of every object that this selector matches. Finding one takes 0.3 µs, and
    decoding an object 20: of 100,000 pods those of one Job are found in 40 ms instead of 2 s."""
    return tuple(
        encode(each.key) + b":" + encode(each.values[0])
        for each in selector.requirements
        if each.operator in ("=", "==", "in") and len(each.values) == 1
    )
