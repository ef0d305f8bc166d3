"""One request from its first byte to its last: who, what, do it, render, answer.

Errors of the API become their Status; anything unexpected is logged with its traceback and answered
as a 500 that tells nothing of the inside.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote

from aiohttp import web

from longshore.api import errors
from longshore.apiserver.answer import Answer, ListAnswer
from longshore.apiserver.documents import metadata_only, resource_usage
from longshore.apiserver.http import authn, endpoints, heads, quick, respond, stream
from longshore.apiserver.http.fanout import Fanout
from longshore.apiserver.http.patience import Patience
from longshore.apiserver.metrics import Metrics
from longshore.apiserver.request import router
from longshore.apiserver.request.call import Call, Query, User
from longshore.apiserver.request.negotiate import Output
from longshore.apiserver.request.options import truth, watch_wanted

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

_QUICK_WRITES: Final = ("create", "update", "patch", "delete")
_SHORT: Final = 128
_MOST_STREAMS: Final = 1000
"""Each holds a connection and a few tasks, and most hold a process of the node."""


@dataclass(slots=True)
class _Context:
    """The facts of a request so far, for the answer to one that fails half way."""

    call: Call | None = None
    warnings: list[str] = field(default_factory=list)


class Handler:
    """Turns requests into calls of one Api."""

    def __init__(self, api: Api, patience: Patience | None = None) -> None:
        self._api = api
        self._patience = patience or Patience()
        self._metrics = Metrics(api.store)
        self._endpoints = endpoints.Endpoints(api, self._metrics)
        self._closing = asyncio.Event()
        self._fanout = Fanout()
        self._streams = 0

    def close(self) -> None:
        """Tells every stream to end."""
        self._closing.set()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answers one request, whatever happens."""
        began = time.perf_counter()
        context = _Context()
        try:
            response = await self._answer(request, context)
        except ConnectionError:
            raise
        except web.HTTPRequestEntityTooLarge:
            response = respond.error(request, _too_large(request), context.warnings)
        except Exception as error:
            problem = quick.problem_of(error, request.method, request.path)
            response = respond.error(request, problem, context.warnings)
        if context.call is not None:
            self._metrics.finished(context.call, response.status, time.perf_counter() - began)
        return response

    def at_once(
        self,
        read: heads.Read,
        body: bytes,
        certificate: Mapping[str, Any] | None,
        answered: quick.Answered,
    ) -> bool:
        """Begins what a request asks for that has come as a whole; `answered` is called once, now or later.

        False for what may have to wait for something else than the journal, and for what is refused before it
        is begun: nothing has been done then.
        """
        raw_path, _, raw_query = read.target.partition("?")
        route = router.split(raw_path)
        if route is None or route.watch or route.subresource in router.CONNECTS:
            return False
        try:
            user = authn.authenticate(self._api, read.headers, certificate)
            call = _call(read, user, route, raw_query, self._api.catalog.find, [])
            if not (_is_quick_read(call) if read.method == "GET" else call.verb in _QUICK_WRITES):
                return False
            output = respond.choose(read, call)
            if call.verb in _QUICK_WRITES:
                _check_output(call, output)
        except Exception:
            return False  # said, and logged, by `handle`
        call.content_type, call.body = read.headers.get("Content-Type"), body
        quick.Quick(self._api, self._metrics, call, output, read, answered).begin()
        return True

    async def _answer(self, request: web.BaseRequest, context: _Context) -> web.StreamResponse:
        raw_path, _, raw_query = request.raw_path.partition("?")
        certificate = request.get_extra_info("peercert")
        user = authn.authenticate(self._api, request.headers, certificate)
        route = router.split(raw_path)
        find = self._api.catalog.find
        if route is not None and route.group == resource_usage.GROUP and self._api.door is not None:
            find = resource_usage.find
        elif route is None or (route.group and not self._api.catalog.has_group(route.group)):
            return self._endpoints.answer(request, user, unquote(raw_path), raw_query)
        context.call = call = _call(request, user, route, raw_query, find, context.warnings)
        if call.verb in ("list", "watch") and (route.watch or watch_wanted(call)):
            if call.resource.group == resource_usage.GROUP:
                raise errors.method_not_allowed()
            return await self._watch(request, call, by_name=route.watch)
        return await self._carry_out(request, call)

    async def _carry_out(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        api, resource, verb = self._api, call.resource, call.verb
        output = respond.choose(request, call)
        if verb in ("create", "update", "patch", "delete", "deletecollection"):
            call.content_type = request.headers.get("Content-Type")
            call.body = await self._body(request)
            _check_output(call, output)
        answer: Answer | ListAnswer
        match verb:
            case "get" | "list" if resource.group == resource_usage.GROUP:
                answer = await resource_usage.answer(api, call)
            case "get":
                answer = await api.get(call)
            case "list":
                answer = await api.list(call)
            case "create":
                answer = await api.create(call)
            case "update":
                answer = await api.update(call)
            case "patch":
                answer = await api.patch(call)
            case "delete":
                answer = await api.delete(call)
            case _:
                answer = await api.delete_collection(call)
        if isinstance(answer, Answer) and (answer.stream is not None or answer.link is not None):
            return await self._stream(request, call, answer)
        return respond.answer(request, api, call, output, answer)

    async def _stream(self, request: web.BaseRequest, call: Call, answer: Answer) -> web.StreamResponse:
        """A log, or a connection to a pod."""
        from longshore.apiserver.http import text
        from longshore.apiserver.http.links import serve

        if self._streams >= _MOST_STREAMS:
            if answer.stream is not None:
                await answer.stream.aclose()
            raise errors.StatusError(
                429,
                "TooManyRequests",
                f"{_MOST_STREAMS} logs and connections to pods are open, which is as many as there may be; "
                "please try again later",
                details={"retryAfterSeconds": 1},
            )
        self._streams += 1
        try:
            if answer.link is not None:
                return await serve.serve(request, answer.link, self._closing)
            assert answer.stream is not None
            return await text.answer(
                request,
                answer.stream,
                call.warnings,
                self._closing,
                self._patience.stuck,
                follow=truth(call.one("follow")),
            )
        finally:
            self._streams -= 1

    async def _body(self, request: web.BaseRequest) -> bytes:
        if request.content.is_eof():  # it came together with the head, as small ones do
            return await request.read()
        try:
            async with asyncio.timeout(self._patience.body):
                return await request.read()
        except TimeoutError:
            raise errors.StatusError(
                408, "Timeout", "Timeout: the body of the request did not arrive in time", details={}
            ) from None

    async def _watch(self, request: web.BaseRequest, call: Call, *, by_name: bool) -> web.StreamResponse:
        call.verb = "watch"
        if by_name and call.name:
            selector = f"metadata.name={call.name}"
            call.query = {**call.query, "fieldSelector": [selector]}
            call.name = ""
        output = respond.choose(request, call, streaming=True)
        changes = await self._api.watch(call)
        self._metrics.watching(call, +1)
        self._fanout.watchers += 1
        try:
            return await stream.stream(
                request, self._api, call, output, changes, self._closing, self._patience.stuck, self._fanout
            )
        finally:
            self._fanout.watchers -= 1
            self._metrics.watching(call, -1)


def _too_large(request: web.BaseRequest) -> errors.StatusError:
    limit = request._client_max_size
    text = f"Request entity too large: limit is {limit}"
    return errors.StatusError(413, "RequestEntityTooLarge", text, details={})


def _call(
    request: respond.Asked,
    user: User,
    route: router.Route,
    raw_query: str,
    find: router.Find,
    warnings: list[str],
) -> Call:
    """The call of a request; raises the 404 or 405 of a path that does not take it."""
    resource = router.resource_of(route, find)
    call = Call(
        resource,
        router.verb_of(route, resource, request.method),
        unquote(route.namespace),
        unquote(route.name),
        route.subresource,
        _known_query(raw_query) if len(raw_query) <= _SHORT else _query(raw_query),
        user,
        request.headers.get("User-Agent", ""),
        warnings=warnings,
    )
    if resource.warning:
        call.warn([resource.warning])
    return call


def _query(raw: str) -> Query:
    return {key: tuple(values) for key, values in parse_qs(raw, keep_blank_values=True).items()}


_known_query: Final = lru_cache(maxsize=256)(_query)
"""Remembers short ones: most writes of a client name the same options."""


def _is_quick_read(call: Call) -> bool:
    """Whether a GET asks for what there is now: no log, no watch, no version that may be still to come."""
    return call.subresource in ("", "status") and not (
        "watch" in call.query or "resourceVersion" in call.query
    )


def _check_output(call: Call, output: Output) -> None:
    """An answer that cannot be given would otherwise be refused after the write."""
    metadata_only.check(output.transform, call.resource, is_list=call.verb == "deletecollection")
