"""An informer over HTTP recovers from every error that an API server, or a proxy before it, can answer."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from client.http.scripted_server import Script
from longshore.client import What
from longshore.client.projection import Projection
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time.clock import RealClock
from longshore.plane.controllers import reads_of
from longshore.testing.stories import beside
from longshore.up.outside.health import LATE_WATCH_SECONDS, Health
from support.http_server import Asked, Reply, json_reply

pytestmark = pytest.mark.anyio
KINDS: dict[str, What] = {"pods": ("v1", "Pod"), "jobs.batch": ("batch/v1", "Job")}
READS = reads_of(["job"])
assert {*KINDS.values()} == {*READS}
HTML = b"<html><head><title>Bad Gateway</title></head><body>\n<h1>502</h1>\n</body></html>\n"
Trouble = Callable[[Asked], Reply]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a cache and a server tell nobody that they changed
        await asyncio.sleep(0.001)


class Hurried(RealClock):
    """Pauses take a thousandth of their time; `ahead` seconds have passed unseen."""

    def __init__(self) -> None:
        self.ahead, self.is_paused = 0.0, False
        self.monotonic = lambda: RealClock.monotonic() + self.ahead  # type: ignore[method-assign, misc]

    async def sleep(self, seconds: float) -> None:
        self.is_paused = True
        await asyncio.sleep(seconds / 1000)
        self.is_paused = False


def status(code: int, reason: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": reason,
        "reason": reason,
        "code": code,
        **more,
    }


def answered(code: int, body: bytes, kind: str = "application/json") -> Trouble:
    return lambda request: Reply(body, code, {"Content-Type": kind})


def said(obj: Any, type: str = "ERROR") -> Trouble:
    return answered(200, json.dumps({"type": type, "object": obj}).encode() + b"\n")


TROUBLES: dict[str, Trouble] = {
    **{
        f"{how} {code}": trouble
        for code, reason in ((410, "Expired"), (429, "TooManyRequests"), (500, "Internal"), (503, "Away"))
        for how, trouble in (
            ("event", said(status(code, reason))),
            ("answer", answered(code, json.dumps(status(code, reason)).encode())),
            ("page", answered(code, HTML, "text/html")),
        )
    },
    "page 200": answered(200, HTML, "text/html"),
    "page 200 without an end of line": answered(200, HTML.replace(b"\n", b""), "text/html"),
    "no text": answered(200, b"\xff\xfe\x00\n"),
    "no text in an event": answered(200, b'{"type":"ADDED","object":{"kind":"\xff"}}\n'),
    "no end of brackets": answered(200, b'{"type":"ADDED","object":{"a":' + b"[" * 100_000 + b"\n"),
    "half an event": answered(200, b'{"type":"ADDED","object":{"metadata":{"na'),
    "another type": said({"metadata": {"name": "x", "resourceVersion": "9"}}, "RENAMED"),
    "an object without metadata": said({}, "ADDED"),
    "an object without a name": said({"metadata": {"resourceVersion": "9"}}, "DELETED"),
    "an object without a version": said({"metadata": {"name": "x"}}, "MODIFIED"),
    "a bookmark without a version": said({"metadata": {}}, "BOOKMARK"),
    "an error that is no Status": said({"error": "upstream"}),
    "a code that is no number": said(status(410, "Expired") | {"code": "410"}),
    "nothing": answered(200, b""),
}  # fmt: skip


def obj(what: What, name: str, version: int) -> dict[str, Any]:
    assert isinstance(what, tuple)
    place = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": f"{version}"}
    return {"apiVersion": what[0], "kind": what[1], "metadata": place, "status": {}}


class Served:
    """An API server with one resource. `trouble` is answered to watches and lists for as long as it is there;
    a version before `oldest` is answered 410, as an event."""

    def __init__(self, what: What) -> None:
        self.what, self.version, self.oldest = what, 5, 0
        self.objects = {"a": obj(what, "a", 3)}
        self.streams = True
        self.trouble: Trouble | None = None
        self.troubled = 0
        self.changed = asyncio.Event()

    async def handle(self, request: Asked) -> Reply | None:
        query = {key: values[0] for key, values in parse_qs(urlsplit(request.target).query).items()}
        if self.trouble is not None:
            self.troubled += 1
            return self.trouble(request)
        if "watch" not in query:
            meta = {"resourceVersion": f"{self.version}"}
            return json_reply({"metadata": meta, "items": [*self.objects.values()]})
        if "sendInitialEvents" in query and not self.streams:
            return json_reply(status(422, "Invalid"), status=422)
        await request.begin()
        if "sendInitialEvents" in query:
            for each in self.objects.values():
                await self._say(request, "ADDED", each)
            ends = {
                "annotations": {"k8s.io/initial-events-end": "true"},
                "resourceVersion": f"{self.version}",
            }
            await self._say(request, "BOOKMARK", obj(self.what, "", 0) | {"metadata": ends})
        elif int(query["resourceVersion"]) < self.oldest:
            await self._say(request, "ERROR", status(410, "Expired"))
            return None
        elif int(query["resourceVersion"]) < self.version:
            await self._say(request, "ADDED", self.objects["b"])
        await self.changed.wait()
        return None

    async def _say(self, request: Asked, type: str, thing: Any) -> None:
        await request.write(json.dumps({"type": type, "object": thing}).encode() + b"\n")

    def change(self) -> None:
        self.version = 9
        self.objects["b"] = obj(self.what, "b", 9)


@asynccontextmanager
async def followed(
    script: Script, what: What, *, streams: bool = True
) -> AsyncIterator[tuple[Served, Informers, Hurried]]:
    served, clock = Served(what), Hurried()
    served.streams = streams
    script.answers = [served.handle]
    async with script.client(reads=READS) as client:
        informers = Informers(client, clock=clock, rng=random.Random(1), reads=READS)
        user = informers.share()
        informer = user.get(what, reads=Projection())
        async with beside(user.run()):
            await informer.synced()
            yield served, user, clock
            served.changed.set()


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", KINDS)
async def test_what_changed_during_trouble_is_heard_of_after_it(
    script: Script, name: str, trouble: str
) -> None:
    what = KINDS[name]
    async with followed(script, what) as (served, user, _):
        served.trouble = TROUBLES[trouble]
        served.changed.set()  # ends the watch; the next one is in trouble
        await until(lambda: served.troubled > 1)
        served.changed.clear()
        served.change()
        served.trouble = None
        cache = user.get(what).cache
        await until(lambda: cache.get("ns", "b") is not None)


@pytest.mark.parametrize("body", [b"{}", b'{"items":[{}]}', b'{"kind":"Status"}', b"[]", HTML])
@pytest.mark.parametrize("name", KINDS)
async def test_an_answer_that_is_no_list_empties_no_cache(script: Script, name: str, body: bytes) -> None:
    what = KINDS[name]
    async with followed(script, what, streams=False) as (served, user, _):
        cache, served.oldest = user.get(what).cache, 6
        served.trouble = lambda request: (
            json_reply(status(410, "Expired"), status=410)
            if "watch=" in request.target
            else answered(200, body)(request)
        )
        served.changed.set()
        await until(lambda: served.troubled > 4)
        assert cache.get("ns", "a") is not None
        served.changed.clear()
        served.change()
        served.trouble = None
        await until(lambda: cache.get("ns", "b") is not None)


@pytest.mark.parametrize("name", KINDS)
async def test_a_forgotten_version_is_asked_for_once(script: Script, name: str) -> None:
    what = KINDS[name]
    async with followed(script, what) as (served, user, _):
        served.change()
        served.oldest = 8
        served.changed.set()
        cache = user.get(what).cache
        await until(lambda: cache.get("ns", "b") is not None)
    asked = [path for _, path, _, _ in script.asked if "&resourceVersion=5&" in path.replace("?", "&")]
    assert len(asked) == 1


@pytest.mark.parametrize("name", KINDS)
async def test_a_server_that_always_fails_at_one_version_is_asked_for_everything(
    script: Script, name: str
) -> None:
    """As after a restore from a backup: the version is one that the server has yet to reach."""
    what = KINDS[name]
    too_large = status(504, "Timeout", details={"causes": [{"reason": "ResourceVersionTooLarge"}]})

    async with followed(script, what) as (served, user, _):

        async def handle(request: Asked) -> Reply | None:
            if "sendInitialEvents" in request.target:
                return await served.handle(request)
            return json_reply(too_large, status=504)

        script.answers = [handle]
        served.change()
        served.changed.set()
        cache = user.get(what).cache
        await until(lambda: cache.get("ns", "b") is not None)


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_watch_that_ends_in_trouble_was_not_served(script: Script, trouble: str) -> None:
    async with followed(script, KINDS["jobs.batch"]) as (served, user, clock):
        health = Health(user, None)
        served.trouble = TROUBLES[trouble]
        served.changed.set()
        # In a pause no watch is open: time that passes in an open one counts as served.
        await until(lambda: served.troubled > 0 and clock.is_paused)
        clock.ahead, seen = LATE_WATCH_SECONDS, served.troubled
        await until(lambda: served.troubled > seen + 2 and clock.is_paused)
        (check,) = health.ready()
        assert not check.well, check.text
