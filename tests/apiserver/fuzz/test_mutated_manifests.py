"""Thousands of requests that are almost right: never a 500, never a changed object after an error.

LONGSHORE_FUZZ_REQUESTS sets how many (9,000 unless told), LONGSHORE_FUZZ_SEED which. Most are given to
the HTTP handler in process; every eighth goes over TLS.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
from typing import Any

import pytest

from apiserver.fuzz.promises import check_answer, check_unchanged, stored
from apiserver.fuzz.seeds import GADGET, GADGETS, NAMESPACE, Seed, path_of, seeds
from apiserver.fuzz.target import Target
from apiserver.fuzz.wishes import Wish, Wisher
from longshore.api.resources import Resource
from longshore.apiserver.rest import versions
from longshore.client.protocol import Response
from longshore.store import Key
from longshore.up.options import Options
from longshore.up.running import Longshore, running

pytestmark = pytest.mark.anyio
REQUESTS = int(os.environ.get("LONGSHORE_FUZZ_REQUESTS", "9000"))
SEED = os.environ.get("LONGSHORE_FUZZ_SEED", "1")
_POPULATION = 80
_ONLY_IN_UPDATES = re.compile(
    rb"status\.addresses\[|spec\.nodeName: Invalid value|status\.storedVersions\["
    rb"|metadata\.generateName: Invalid value|metadata\.finalizers\[\d+\]: Invalid value"
)
"""Checked by updates of the whole object, not by a Node's creation, a pod's binding or a write to a
status (which may change metadata); upstream too."""


async def test_mutated_requests_break_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_WAIT_SECONDS", 0.01)
    dice = random.Random(SEED)
    async with running(
        Options(in_memory=True, port=0, controllers=(), scheduler=False, node=False)
    ) as longshore:
        target = Target(longshore)
        wisher = Wisher(seeds([await gadget(longshore)]), dice)
        for number in range(REQUESTS):
            wish = wisher.draw()
            try:
                await one(target, wisher, wish, dice, over_tls=wish.is_stream or number % 8 == 0)
            except Exception as error:
                raise AssertionError(f"request {number} of seed {SEED}: {wish}") from error
            assert not [record for record in caplog.records if record.levelno >= logging.ERROR], wish
        await target.close()


async def gadget(longshore: Longshore) -> Seed:
    """Defines a kind of a user's own."""
    await longshore.client.create(("apiextensions.k8s.io/v1", "CustomResourceDefinition"), GADGETS)
    rows = [row for row in longshore.api.catalog.resources() if row.kind == "Gadget"]
    return Seed(rows[0], GADGET)


async def one(target: Target, wisher: Wisher, wish: Wish, dice: random.Random, *, over_tls: bool) -> None:
    """Sends one request and holds the server to its promises."""
    before, revision = stored(target.api, wish), target.api.store.revision
    answer = await target.ask(wish, over_tls=over_tls)
    check_answer(wish, answer.code, answer.headers, answer.body)
    # A delete with a body takes its options from there and none from the query.
    dry_run = "dryRun=All" in wish.target and not (wish.method == "DELETE" and wish.body)
    if answer.code >= 400 or dry_run:
        check_unchanged(target.api, revision, wish, before)
        return
    if wish.method in ("POST", "PUT", "PATCH") and wish.resource is not None:
        await remember(target, wisher, wish, answer, dice)
    if wish.method == "DELETE" and wish.name:
        wisher.there = [
            (r, o) for r, o in wisher.there if (r, o["metadata"]["name"]) != (wish.resource, wish.name)
        ]
    if wish.method == "GET" and b'"continue":"' in answer.body:
        wisher.tokens = [json.loads(answer.body)["metadata"]["continue"], *wisher.tokens[:5]]


async def remember(target: Target, wisher: Wisher, wish: Wish, answer: Response, dice: random.Random) -> None:
    """Takes a written object into the population, and sees that it can be put back as it is."""
    resource = wish.resource
    assert resource is not None
    name = wish.name
    if not name and "get" in resource.verbs and answer.headers["content-type"] == "application/json":
        name = json.loads(answer.body)["metadata"].get("name", "")
    if not name or "get" not in resource.verbs:
        return
    found = await target.get(resource, name, "application/json")
    others = [(r, o) for r, o in wisher.there if (r, o["metadata"]["name"]) != (resource, name)]
    if found.code == 404:
        wisher.there = others
        return
    await put_back(target, resource, name, dice)
    if len(others) >= _POPULATION:
        gone, obj = others.pop(dice.randrange(len(others)))
        gone_name = obj["metadata"]["name"]
        plain = b'{"metadata":{"finalizers":null}}'
        media = {"Content-Type": "application/merge-patch+json"}
        await target.ask(Wish("PATCH", path_of(gone, gone_name), plain, media), over_tls=False)
        force = path_of(gone, gone_name) + "?gracePeriodSeconds=0&propagationPolicy=Background"
        await target.ask(Wish("DELETE", force), over_tls=False)
    wisher.there = [*others, (resource, json.loads(found.body))]


async def put_back(target: Target, resource: Resource, name: str, dice: random.Random) -> None:
    """A PUT of what a GET gave changes nothing, in any format."""
    forms = ["application/json", "application/yaml"]
    if resource.style == "builtin":
        forms.append("application/vnd.kubernetes.protobuf")
    form = dice.choice(forms)
    if resource.storage in ("batch/jobs", "apiextensions.k8s.io/customresourcedefinitions"):
        # A Job without labels shows those of its template; the first change, be it empty, stores them. So
        # it is with the stored versions of a definition whose status was written without them.
        await _put(target, resource, name, await target.get(resource, name, form), form)
    got = await target.get(resource, name, form)
    assert got.code == 200
    revision = target.api.store.revision
    old = _content(target, resource, name)
    put = await _put(target, resource, name, got, form)
    if put.code == 422 and _ONLY_IN_UPDATES.search(put.body):
        return
    assert put.code == 200, put.body
    if target.api.store.revision != revision:
        raise AssertionError(
            f"put back as {form}, it changed: {_difference(old, _content(target, resource, name))}"
        )


async def _put(target: Target, resource: Resource, name: str, got: Response, form: str) -> Response:
    sent = {"Content-Type": form, "User-Agent": "putter"}
    return await target.ask(Wish("PUT", path_of(resource, name), got.body, sent), over_tls=False)


def _content(target: Target, resource: Resource, name: str) -> Any:
    entry = target.api.store.latest(Key(resource.storage, NAMESPACE if resource.namespaced else "", name))
    return entry.obj if entry is not None else None


def _difference(old: Any, new: Any, path: str = "") -> list[str]:
    """Where two values differ, for the report of a failure."""
    if type(old) is dict and type(new) is dict:
        keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        return [line for key in keys for line in _difference(old.get(key), new.get(key), f"{path}.{key}")]
    return [f"{path}: {old!r} -> {new!r}"]
