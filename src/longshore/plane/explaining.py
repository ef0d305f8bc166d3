"""Stories of objects as resources: `explanations` of longshore.dev, and `clusterexplanations` for objects
without a namespace. `job.hello` is about the Job `hello`, also for a while after its deletion.

The right to get an explanation is a right to read what it shows: status and events of the object and its
pods, the last line of a failed container's log, and claims and nodes for which a pod waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from longshore.api import errors
from longshore.api.facts import owners
from longshore.api.types import Obj
from longshore.apiserver.documents import own_group
from longshore.apiserver.request.call import INTERNAL, Call
from longshore.machinery.reasons import Reason
from longshore.machinery.records import Name, Record
from longshore.store import Key, Store
from longshore.why import observe, tell
from longshore.why.deletion import ASKED, ITSELF
from longshore.why.kinds import CLUSTER_EXPLANATIONS, EXPLANATIONS, KINDS, Kind, of_resource

if TYPE_CHECKING:
    from longshore.apiserver.documents.own_group import MadeDocument
    from longshore.machinery.reason_book import ReasonBook
    from longshore.machinery.reasons import Number
    from longshore.plane.plane import Plane


class StoredObjects:
    """Gives `observe` read access to a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        entry = self._store.get(Key(_storage(kind), namespace, name))
        return entry.obj if entry is not None else None

    def list(self, kind: Kind, namespace: str) -> Sequence[Obj]:
        return [entry.obj for entry in self._store.list(_storage(kind), namespace or None).entries]

    def events(self, namespace: str, kind: str, name: str) -> Sequence[Obj]:
        found = (entry.obj for entry in self._store.list("events", namespace).entries)
        return [event for event in found if _is_about(event, kind, name)]


def _storage(kind: Kind) -> str:
    return f"{kind.group}/{kind.plural}" if kind.group else kind.plural


def _is_about(event: Obj, kind: str, name: str) -> bool:
    ref = event.get("involvedObject") or {}
    return ref.get("kind") == kind and ref.get("name") == name


def documents(plane: Plane, book: ReasonBook) -> tuple[MadeDocument, ...]:
    """The resources that serve a plane's explanations."""
    objects, clock, wiring = StoredObjects(plane.parts.store), plane.clock, plane.wiring

    def waits(kind: Kind, namespace: str, name: str) -> Sequence[Reason]:
        said = wiring.waits[kind.word](namespace, name) if kind.word in wiring.waits else ()
        return said[-1].why if said else ()

    def recall(names: Collection[Name]) -> list[Record]:
        found = book.of(names)
        for kind, namespace, name in names:
            if kind == "job":
                found += plane.history.recalled(namespace, name, found)
        return sorted(found, key=lambda record: record.at)

    async def answer(call: Call) -> Obj | None:
        word, _, name = call.name.partition(".")
        kind = KINDS.get(word)
        if kind is None or not name or kind.namespaced != call.resource.namespaced:
            return None
        view = observe.observe(
            objects,
            kind,
            call.namespace,
            name,
            now=clock.timestamp(),
            recall=recall,
            waits=waits,
            zone=wiring.zone,
        )
        story = tell.tell(view)
        if story is None:
            raise errors.not_found(kind.group, kind.plural, name)
        where = {"namespace": call.namespace} if call.namespace else {}
        return {"metadata": {"name": call.name, **where}, **story.document()}

    return own_group.document(EXPLANATIONS, answer), own_group.document(CLUSTER_EXPLANATIONS, answer)


def noting(book: ReasonBook, now: Callable[[], float]) -> Callable[[Call, Obj], None]:
    """A function that records which user deleted an object of a kind that has stories."""

    def note(call: Call, obj: Obj) -> None:
        kind = of_resource(call.resource.group, call.resource.plural)
        if kind is None:
            return
        meta = obj["metadata"]
        if call.user == INTERNAL:
            numbers: dict[str, Number] = {"user": ITSELF}
            if (owner := owners.controller_of(obj)) is not None:
                numbers |= {"owner": owner["name"], "kind": owner["kind"]}
        else:
            numbers = {"user": call.user.name, "agent": call.agent.partition("/")[0]}
        tell = book.teller(kind.word, "API server")
        tell((call.namespace, meta["name"]), meta["uid"], now(), Reason(ASKED, numbers))

    return note
