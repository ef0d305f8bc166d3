"""Events against the recorded exchanges: one object, two views, two sets of rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from longshore.api import errors, types
from longshore.api.kinds import event
from longshore.api.types import Obj
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api/events.json"
NAMESPACE = "team"
SERVER_SET = ("uid", "creationTimestamp", "namespace", "resourceVersion", "generateName")


def exchanges() -> Iterator[Obj]:
    text = VECTORS.read_text().replace("<ns>", NAMESPACE)
    for n, letter in ((2000, "m"), (1025, "n")):
        text = text.replace(f"<repeat:{letter}:{n}>", letter * n)
    yield from json.loads(text)


def without_server_set(obj: Obj) -> Obj:
    meta = {k: v for k, v in obj["metadata"].items() if k not in SERVER_SET}
    return {**{k: v for k, v in obj.items() if k not in ("kind", "apiVersion")}, "metadata": meta}


def folded(status: Obj) -> Obj:
    """Whole objects in messages are not compared, as in the recording."""
    text = types.encode(status).decode()
    if "field is immutable" in text and "involvedObject" in text:
        return {"reason": status["reason"], "field": status["details"]["causes"][0]["field"]}
    return status


def test_recorded_exchanges_are_answered_as_kubernetes_answers_them(kind: Callable[..., Any]) -> None:
    core, new = kind("events"), kind("events", "events.k8s.io")
    stored: dict[str, Obj] = {}
    checked = 0
    for exchange in exchanges():
        request, wanted = exchange["request"], exchange["response"]
        view = new if request["path"].startswith("/apis/events.k8s.io") else core
        method, name = request["method"], request["path"].rpartition("/")[2]
        body = request.get("body") or {}
        refused: Obj | None = None
        answer: Obj = {}
        try:
            if method == "POST" and "generateName" not in body["metadata"]:
                answer = view.create(body, NAMESPACE)
                name = body["metadata"]["name"]
            elif method == "GET" and name in stored and wanted["status"] == 200:
                answer = stored[name]
            elif method == "PUT":
                answer = core.create(body, NAMESPACE)
            elif method == "PATCH":
                changes = {
                    key: {**(view.served(stored[name]).get(key) or {}), **value}
                    if isinstance(value, dict)
                    else value
                    for key, value in body.items()
                }
                answer = view.update(stored[name], changes)
            else:
                continue
        except errors.StatusError as error:
            refused = error.status()
        if refused is not None:
            assert folded(refused) == folded(wanted["body"]), exchange["name"]
        else:
            assert wanted["status"] in (200, 201), exchange["name"]
            stored[name] = answer
            have, want = without_server_set(view.served(answer)), without_server_set(wanted["body"])
            for pointer in exchange.get("ignore") or ():
                del have[pointer[1:]], want[pointer[1:]]
            assert have == want, exchange["name"]
        checked += 1
    assert checked > 28


def test_both_views_hold_the_same() -> None:
    core = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Job"},
        "message": "m",
        "source": {"component": "c"},
        "firstTimestamp": "2021-01-01T00:00:00Z",
        "lastTimestamp": None,
        "count": 3,
        "eventTime": None,
        "reportingComponent": "r",
        "reportingInstance": "i",
        "series": {"count": 2, "lastObservedTime": "2021-01-01T00:00:00.000000Z"},
        "related": {"kind": "Pod"},
        "action": "A",
    }
    assert event.to_core(event.to_new(core)) == core


def test_a_complete_event_has_bounded_fields(kind: Callable[..., Any]) -> None:
    core = kind("events")
    body = {
        "metadata": {"name": "e"},
        "involvedObject": {"namespace": "team"},
        "eventTime": "2021-01-01T00:00:00.000000Z",
        "reportingComponent": "r",
        "reportingInstance": "i" * 129,
        "action": "a" * 129,
        "reason": "R",
    }
    assert core.refusal(core.create, body) == (
        '[reportingInstance: Invalid value: "": can have at most 128 characters, '
        'action: Invalid value: "": can have at most 128 characters]'
    )


def test_an_event_about_a_cluster_wide_object_lives_in_default(kind: Callable[..., Any]) -> None:
    core = kind("events")
    core.create({"metadata": {"name": "e"}, "involvedObject": {"kind": "Node"}}, "default")
