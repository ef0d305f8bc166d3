"""An event as recorders write it takes a short way, and is stored as the long way would store it."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from longshore.api.codec import DecodeError
from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.types import Obj, encode
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.request import body
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest import create
from longshore.client.local import LocalClient
from longshore.client.writes import Create
from longshore.machinery.time.clock import RealClock
from longshore.store import Key, Store
from support.fixed_clock import FixedClock

EVENT: Obj = {
    "metadata": {"name": "job.18", "namespace": "ns"},
    "involvedObject": {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "namespace": "ns",
        "name": "job",
        "uid": "1",
        "resourceVersion": "7",
    },
    "reason": "SuccessfulCreate",
    "message": "Created pod: job-x",
    "source": {"component": "job-controller"},
    "firstTimestamp": "2026-01-31T00:00:00Z",
    "lastTimestamp": "2026-01-31T00:00:01Z",
    "count": 1,
    "type": "Normal",
    "reportingComponent": "job-controller",
}
ABOUT = EVENT["involvedObject"]
USUAL: dict[str, Obj] = {
    "as it is": {},
    "counted": {"count": 12},
    "of a part": {"involvedObject": {**ABOUT, "fieldPath": "spec.containers{main}"}},
    "not of a version": {"involvedObject": {"kind": "Job", "namespace": "ns", "name": "job"}},
    "in other words": {"type": "Whatever", "message": "ä < b & c", "reason": "x" * 2000},
    "in the default namespace": {
        "metadata": {"name": "n.1", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": "n", "uid": "n"},
    },
}
UNUSUAL: dict[str, Obj] = {
    "of another namespace": {"involvedObject": {**ABOUT, "namespace": "other"}},
    "of no namespace": {"involvedObject": {"kind": "Node", "name": "n"}},
    "about nothing": {"involvedObject": {}},
    "no message": {"message": ""},
    "no source": {"source": {}},
    "a host": {"source": {"component": "c", "host": "h"}},
    "count of zero": {"count": 0},
    "count in words": {"count": "1"},
    "too great a count": {"count": 2**31},
    "odd time": {"firstTimestamp": "2026-01-31T01:00:00+01:00"},
    "no time": {"lastTimestamp": None},
    "not a time": {"lastTimestamp": "soon"},
    "eventTime": {"eventTime": "2026-01-31T00:00:00.000000Z"},
    "unknown field": {"colour": "red"},
    "labels": {"metadata": {"name": "a", "namespace": "ns", "labels": {"a": "b"}}},
    "bad label": {"metadata": {"name": "a", "namespace": "ns", "labels": {"a": "b c"}}},
    "generated name": {"metadata": {"generateName": "a", "namespace": "ns"}},
    "no name": {"metadata": {"name": "", "namespace": "ns"}},
    "bad name": {"metadata": {"name": "a/b", "namespace": "ns"}},
    "name of a folder": {"metadata": {"name": "..", "namespace": "ns"}},
    "not the namespace of the request": {"metadata": {"name": "a", "namespace": "elsewhere"}},
    "missing namespace": {
        "metadata": {"name": "a", "namespace": "gone"},
        "involvedObject": {**ABOUT, "namespace": "gone"},
    },
    "closed namespace": {
        "metadata": {"name": "a", "namespace": "closed"},
        "involvedObject": {**ABOUT, "namespace": "closed"},
    },
    "counted by a quota": {
        "metadata": {"name": "a", "namespace": "narrow"},
        "involvedObject": {**ABOUT, "namespace": "narrow"},
    },
    "twice": {"metadata": {"name": "there", "namespace": "ns"}},
}


def a_call(kind: str, value: Obj, namespace: str = "", *, group: str = "v1", **query: str) -> Call:
    row = table.by_kind(group, kind)
    assert row is not None
    asked = {"fieldManager": ("tester",), **{key: (text,) for key, text in query.items()}}
    return Call(row, "create", namespace, query=asked, value=value)


def posted(event: Obj, *, shortcuts: bool = True, **query: str) -> tuple[Any, list[str]]:
    """What becomes of an event: the bytes of all that was written or the refusal, and the warnings."""

    async def play() -> tuple[Any, list[str]]:
        store = Store.open(None)
        api = Api(ApiParts(store, FixedClock(), random.Random(1), shortcuts=shortcuts))
        for name in ("default", "ns", "other", "closed", "narrow"):
            create.create(api, a_call("Namespace", {"metadata": {"name": name}}))
        create.create(api, a_call("Event", {**EVENT, "metadata": {"name": "there"}}, "ns"))
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/events": "5"}}}
        create.create(api, a_call("ResourceQuota", quota, "narrow"))
        closed = store.latest(Key("namespaces", "", "closed"))
        assert closed is not None
        store.stage(closed.key, {**closed.obj, "status": {"phase": "Terminating"}})
        where = event["metadata"]["namespace"].replace("elsewhere", "ns")
        call = a_call("Event", event, where, **query)
        found: Any
        try:
            answer = create.create(api, call)
            found = [one.entry.raw for one in answer.staged] or answer.view()
        except StatusError as err:
            found = (err.code, err.message, err.details)
        except DecodeError as err:
            found = str(err)
        await store.close()
        return found, call.warnings

    return asyncio.run(play())


@pytest.mark.parametrize("change", [*USUAL.values(), *UNUSUAL.values()], ids=[*USUAL, *UNUSUAL])
def test_both_ways_come_to_the_same(change: Obj) -> None:
    assert posted({**EVENT, **change}) == posted({**EVENT, **change}, shortcuts=False)


@pytest.mark.parametrize("change", USUAL.values(), ids=USUAL)
def test_a_usual_event_is_not_decoded(change: Obj, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> Any:
        raise AssertionError("this event took the long way")

    event = {**EVENT, **change}
    api, where = (
        Api(ApiParts(Store.open(None), RealClock(), random.Random(), shortcuts=True)),
        event["metadata"]["namespace"],
    )

    async def play() -> Obj:
        create.create(api, a_call("Namespace", {"metadata": {"name": where}}))
        monkeypatch.setattr(body, "object_of", refused)
        return create.create(api, a_call("Event", event, where)).view()

    made = asyncio.run(play())
    assert {key: made[key] for key in event if key != "metadata"} == {
        k: event[k] for k in event if k != "metadata"
    }


def test_a_dry_run_stores_nothing_either_way() -> None:
    found, _ = posted(EVENT, dryRun="All")
    assert found["reason"] == "SuccessfulCreate"
    assert "resourceVersion" not in found["metadata"]


def test_an_event_of_the_newer_group_is_judged_by_its_own_rules() -> None:
    api = Api(ApiParts(Store.open(None), RealClock(), random.Random()))

    async def play() -> None:
        create.create(api, a_call("Namespace", {"metadata": {"name": "ns"}}))
        bare = {"metadata": {"name": "e", "namespace": "ns"}}
        call = a_call("Event", bare, "ns", group="events.k8s.io/v1")
        with pytest.raises(StatusError, match="eventTime: Required value"):
            create.create(api, call)

    asyncio.run(play())


def test_a_change_of_one_event_leaves_the_others_as_they_were() -> None:
    async def play() -> None:
        store = Store.open(None)
        client = LocalClient(Api(ApiParts(store, RealClock(), random.Random())), manager="recorder")
        await client.create(("v1", "Namespace"), {"metadata": {"name": "ns"}})
        events = [{**EVENT, "metadata": {"name": name, "namespace": "ns"}} for name in "ab"]
        a, _ = await client.write([Create(("v1", "Event"), event) for event in events])
        assert isinstance(a, dict)
        before = encode(a)
        await client.patch(("v1", "Event"), "b", {"count": 2, "message": "again"}, "ns", manager="other")
        await client.patch(("v1", "Event"), "b", {"source": {"host": "h"}, "reason": None}, "ns")
        assert encode(await client.get(("v1", "Event"), "a", "ns")) == before
        await store.close()

    asyncio.run(play())
