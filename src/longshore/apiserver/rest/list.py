"""GET of a collection: selectors, snapshots, pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from longshore.api import errors
from longshore.api.selectors import fields, labels
from longshore.apiserver.answer import Later, ListAnswer, served
from longshore.apiserver.request import options
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import paging, versions
from longshore.store import Compacted, Entry, FutureRevision, Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

Predicate = Callable[[Entry], bool]

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
    return list_entries(api, call, wanted)


async def _then(api: Api, call: Call, wanted: options.ListOptions, revision: int) -> ListAnswer:
    await versions.wait_until(api, revision)
    return list_entries(api, call, wanted)


def list_entries(api: Api, call: Call, wanted: options.ListOptions) -> ListAnswer:
    """The list without waiting: for versions that are there already."""
    matches = predicate(call, wanted)
    namespace = scope(call)
    revision, start, limit = _where(call, wanted)
    try:
        snapshot = (
            api.store.list(call.resource.storage, namespace)
            if revision is None
            else api.store.list_at(call.resource.storage, namespace, revision)
        )
    except Compacted:
        if wanted.continue_:
            inconsistent = paging.token(-1, Key("", *_before(start)), all_namespaces=namespace is None)
            raise versions.expired(_CONTINUE_TOO_OLD, inconsistent) from None
        raise versions.expired("The resourceVersion for the provided list is too old.") from None
    except FutureRevision as error:
        raise versions.too_large(error.asked, error.current) from None
    entries: Sequence[Entry] = snapshot.entries
    if start is not None:
        entries = [e for e in entries if (e.key.namespace, e.key.name) >= start]
    if matches is not None:
        entries = [e for e in entries if matches(e)]
    answer = ListAnswer(call.resource, list(entries), snapshot.revision)
    if limit and len(entries) > limit:
        answer.entries = list(entries[:limit])
        last = answer.entries[-1].key
        answer.continue_ = paging.token(snapshot.revision, last, all_namespaces=namespace is None)
        if matches is None:
            answer.remaining = len(entries) - limit
    return answer


def _before(start: tuple[str, str] | None) -> tuple[str, str]:
    namespace, name = start or ("", "")
    return namespace, name.removesuffix("\0")


def _where(call: Call, wanted: options.ListOptions) -> tuple[int | None, tuple[str, str] | None, int]:
    """Which snapshot (None is the newest), where in it to begin, and how many to give (0 is all)."""
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

    def keeps(entry: Entry) -> bool:
        obj = served(resource, entry.obj)
        if by_label is not None and not by_label.matches(obj["metadata"].get("labels") or {}):
            return False
        return by_field.matches(obj, entry.key.namespace, entry.key.name)

    return keeps
