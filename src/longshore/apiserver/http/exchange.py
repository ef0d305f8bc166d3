"""One request, from its head to its answer."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Awaitable
from functools import lru_cache
from functools import partial as partial_function
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, unquote

from longshore.api import errors
from longshore.api.resources import Resource
from longshore.apiserver.access.authz import Access
from longshore.apiserver.answer import Found, Later, LinkAnswer, LogAnswer, Rendered
from longshore.apiserver.documents import metadata_only
from longshore.apiserver.http import aside, authn, respond
from longshore.apiserver.http.begun import Begun, Durable, Queued, Ready, Streams, Upgrades, Waits
from longshore.apiserver.http.fair_share import FairShare, client_of
from longshore.apiserver.http.parser import too_large
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.response import Reply
from longshore.apiserver.request import router
from longshore.apiserver.request.call import Call, Query, User
from longshore.apiserver.request.options import truth, watch_wanted
from longshore.store import StoreError

if TYPE_CHECKING:
    from longshore.apiserver.http.begin import ApiFront
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.large.large_writes import LargeWrites

log = logging.getLogger("longshore.http")

_DASHBOARD: Final = "/ui"
_NEVER_LARGE: Final = frozenset(("delete", "deletecollection", "token", "tokenreviews", *router.CONNECTS))
"""Verbs, subresources and resources whose bodies are short, or are not read. Tokens also need a key that no
other process gets."""


class Exchange:
    """One request, from its head to its answer. Only methods that run in a task raise: see `Upgrades`."""

    __slots__ = (
        "_api", "_began", "_call", "_front", "_output", "_request", "_user", "_written", "refusal",
    )  # fmt: skip

    def __init__(self, front: ApiFront, request: Request) -> None:
        self._front, self._api, self._request = front, front.api, request
        self._began = time.perf_counter()
        self._call: Call | None = None
        """None for a path that is no resource's."""
        self.refusal: Reply | None = None

    @property
    def call(self) -> Call | None:
        """The call that was asked for; None for a path that is no resource's."""
        return self._call

    # ---- the steps

    def admit(self) -> None:
        """Finds the user, the call and the output form. Makes all refusals that need no body."""
        api, request = self._api, self._request
        try:
            raw_path, _, raw_query = request.target.partition("?")
            if raw_path.startswith(_DASHBOARD) and self._front.dashboard is not None:
                return  # it knows its own logins
            self._user = authn.authenticate(api, request)
            route = router.split(raw_path)
            find = api.catalog.find
            if route is not None and route.group in api.made.groups:
                find = self._find_made
            elif route is None or (route.group and not api.catalog.has_group(route.group)):
                return
            try:
                self._call = call = _call_of(request, self._user, route, raw_query, find)
            except errors.StatusError:
                self._check_rights(route)  # first: users without rights learn nothing of what is served
                raise
            watches = call.verb == "watch" or (call.verb == "list" and watch_wanted(call))
            if watches:
                _make_watch(call, by_name=route.watch)
            self._output = output = respond.choose(request, call, streaming=watches)
            if request.method != "GET":
                # An answer that cannot be given would otherwise be refused after the write.
                metadata_only.check(output.transform, call.resource, is_list=call.verb == "deletecollection")
                call.content_type = request.headers.get("content-type")
        except Exception as error:  # a bug is answered with 500
            self.refusal = self._failed(error)

    def _check_rights(self, route: router.Route) -> None:
        """For a path or method that is not served: raises a 403 if the user has no right to it."""
        what = f"{route.plural}/{route.subresource}" if route.subresource else route.plural
        verb = router.asked_verb(route, self._request.method)
        access = Access(verb, route.group, what, unquote(route.name), unquote(route.namespace))
        self._api.authorizer.insist(self._user, access)

    def _find_made(self, group: str, version: str, plural: str) -> Resource | None:
        """A resource whose documents are made on request, or a custom resource in the same group."""
        return self._api.made.find(group, version, plural) or self._api.catalog.find(group, version, plural)

    def begin(self) -> Begun:
        """Reads, or stages the write, or refuses."""
        if self.refusal is not None:
            return Ready(self.refusal)
        call = self._call
        if call is None:
            return self._shown()
        fair = self._front.fair
        if fair is None or call.verb == "watch":
            return self._carried_out(call)
        if not fair.must_wait(call):
            return self._on_account(call, fair)
        try:
            fair.check_room(call)
        except errors.StatusError as error:
            return Ready(self._failed(error))
        return Queued(lambda then: fair.when_due(call, then), lambda: self._on_account(call, fair))

    def _on_account(self, call: Call, fair: FairShare) -> Begun:
        """Begins a request and charges its time to the client's share."""
        began = time.perf_counter()
        begun = self._carried_out(call)
        fair.spend(call, time.perf_counter() - began)
        return begun

    def _carried_out(self, call: Call) -> Begun:
        try:
            if call.verb in ("get", "list"):
                return self._found(self._api.read(call))
            if call.verb == "watch":
                return Waits(self._watch)
            call.body = self._request.body
            if (large := self._front.large(call)) is not None:
                return Waits(lambda: self._later(Later(lambda: self._written_apart(call, large))))
            if call.verb == "deletecollection":
                return Waits(lambda: self._later(Later(lambda: self._api.delete_collection(call))))
            answer = self._api.write(call)
            if isinstance(answer, LinkAnswer | Later) or not answer.staged:
                return self._found(answer)
        except errors.StatusError as error:
            if error.code == 409:
                return Waits(partial_function(self._refused, error))
            return Ready(self._failed(error))
        except Exception as error:  # a bug is answered with 500
            return Ready(self._failed(error))
        self._written = answer
        return Durable(answer.staged[-1], self._durable)

    def _shown(self) -> Ready:
        """Answers a path that is no resource's."""
        dashboard = self._front.dashboard
        try:
            if dashboard is not None and self._request.target.startswith(_DASHBOARD):
                return Ready(dashboard.answer(self._request))
            return Ready(self._front.endpoints.answer(self._request, self._user))
        except Exception as error:  # a bug is answered with 500
            return Ready(self._failed(error))

    async def _written_apart(self, call: Call, large: LargeWrites) -> Rendered | LinkAnswer:
        self._api.authorizer.check(call)
        if (
            call.verb in _NEVER_LARGE
            or call.subresource in _NEVER_LARGE
            or call.resource.plural in _NEVER_LARGE
        ):
            raise too_large(aside.LARGE_BYTES)
        answer = self._api.followed_up(call, await large.write(call))
        if not isinstance(answer, LinkAnswer) and answer.staged:
            await answer.staged[-1].done()
        return answer

    def _found(self, answer: Found | Later) -> Ready | Waits | Upgrades:
        if isinstance(answer, Rendered):
            if self._call is not None and respond.takes_long(self._request, self._call, self._output, answer):
                return Waits(lambda: self._rendered_aside(answer))
            return Ready(self._reply(answer))
        if isinstance(answer, Later):
            return Waits(lambda: self._later(answer))
        if isinstance(answer, LogAnswer):
            return Waits(lambda: self._log(answer))
        return Upgrades(lambda connection, request: self._connect(answer, connection))

    # ---- answers

    def _reply(self, answer: Rendered) -> Reply:
        call = self._call
        assert call is not None
        reply = respond.reply(self._request, self._api, call, self._output, answer)
        self._count(reply.code)
        return reply

    def _durable(self, error: Exception | None) -> Reply:
        try:
            if error is not None:
                raise error
            return self._reply(self._written)
        except Exception as problem:  # a bug is answered with 500
            return self._failed(problem)

    def _failed(self, error: Exception) -> Reply:
        warnings = self._call.warnings if self._call is not None else []
        reply = respond.failure(self._request, problem_of(error, self._request), warnings)
        self._count(reply.code)
        return reply

    def _count(self, code: int) -> None:
        if self._call is not None:
            self._front.metrics.finished(self._call, code, time.perf_counter() - self._began)

    # ---- in a task

    async def _refused(self, error: errors.StatusError) -> Ready:
        return Ready(self._failed(await self._api.readable(error)))

    async def _later(self, answer: Later) -> Ready | Streams | Upgrades:
        try:
            found = self._found(await answer.work())
        except errors.StatusError as error:
            return await self._refused(error)
        except Exception as error:  # a bug is answered with 500
            return Ready(self._failed(error))
        return await found.work() if isinstance(found, Waits) else found

    async def _rendered_aside(self, answer: Rendered) -> Ready:
        """Renders an answer that takes long, in the thread of `aside`."""
        call, api = self._call, copy.copy(self._api)
        assert call is not None
        own = aside.private(answer)
        try:
            reply = await aside.run(lambda: respond.reply(self._request, api, call, self._output, own))
        except Exception as error:  # a bug is answered with 500
            return Ready(self._failed(error))
        self._count(reply.code)
        return Ready(reply)

    async def _watch(self) -> Ready | Streams | Upgrades:
        from longshore.apiserver.http import watch_response

        assert self._call is not None
        try:
            changes = await self._api.watch(self._call)
        except Exception as error:  # a bug is answered with 500
            return Ready(self._failed(error))
        watch = watch_response.Watch(self._api, self._call, self._output, changes, self._front.watching)
        if self._request.upgrade == "websocket":
            return Upgrades(
                lambda connection, request: self._until_ended(101, watch.talk(connection, request))
            )
        return Streams(lambda sender: self._until_ended(200, watch.send(sender)))

    async def _log(self, answer: LogAnswer) -> Ready | Streams | Upgrades:
        from longshore.apiserver.http import log_stream

        call = self._call
        assert call is not None
        if answer.text is None:
            self._count(204)
            return Ready(Reply(204, "", b""))
        headers = respond.warning_headers(call.warnings)
        text = log_stream.Log(answer.text, self._front.pod_streams, client_of(call), headers)
        try:
            if self._request.upgrade == "websocket":
                await text.begin(follow=True)
                return Upgrades(
                    lambda connection, request: self._until_ended(101, text.talk(connection, request))
                )
            whole = await text.begin(follow=truth(call.one("follow")))
        except Exception as error:  # a bug is answered with 500
            return Ready(self._failed(error))
        if whole is not None:
            self._count(whole.code)
            return Ready(whole)
        return Streams(lambda sender: self._until_ended(200, text.send(sender)), text.close)

    async def _connect(self, answer: LinkAnswer, connection: Connection) -> None:
        from longshore.apiserver.http.streams import upgrade

        assert self._call is not None
        streams, client = self._front.pod_streams, client_of(self._call)
        streams.opened(client)
        try:
            await self._until_ended(
                101, upgrade.serve(connection, self._request, answer.link, streams.closing)
            )
        finally:
            streams.ended(client)

    async def _until_ended(self, code: int, work: Awaitable[None]) -> None:
        """Runs a stream to its end, then counts the request."""
        try:
            await work
        except errors.StatusError as refused:
            code = refused.code
            raise
        finally:
            self._count(code)


def problem_of(error: Exception, request: Request) -> errors.StatusError:
    """The error as the client sees it: without internal details, which go to the log."""
    if isinstance(error, errors.StatusError):
        return error
    if isinstance(error, StoreError):
        # A write that could not be made durable did not happen; the client may try again.
        causes = {"causes": [{"message": str(error)}]}
        return errors.StatusError(500, "InternalError", f"Internal error occurred: {error}", details=causes)
    log.error("request failed: %s %s", request.method, request.target.partition("?")[0], exc_info=error)
    return errors.internal("see the server's log")


_MAX_CACHED_QUERY_CHARACTERS: Final = 128
"""Characters of the longest query whose parsed form is cached."""


def _call_of(request: Request, user: User, route: router.Route, raw_query: str, find: router.Find) -> Call:
    """The call a request asks for; raises a 404 or 405 if the path does not support it."""
    resource = router.resource_of(route, find)
    call = Call(
        resource,
        router.verb_of(route, resource, request.method),
        unquote(route.namespace),
        unquote(route.name),
        route.subresource,
        _known_query(raw_query) if len(raw_query) <= _MAX_CACHED_QUERY_CHARACTERS else _query(raw_query),
        user,
        request.headers.get("user-agent", ""),
    )
    if resource.warning:
        call.warn([resource.warning])
    return call


def _query(raw: str) -> Query:
    return {key: tuple(values) for key, values in parse_qs(raw, keep_blank_values=True).items()}


_known_query: Final = lru_cache(maxsize=256)(_query)
"""Caches short queries: most writes of a client name the same options."""


def _make_watch(call: Call, *, by_name: bool) -> None:
    """Turns a list with `watch=1`, or the old form `/watch/`, where a name is a selector, into a watch."""
    if "watch" not in call.resource.verbs:
        raise errors.method_not_allowed()
    call.verb = "watch"
    if by_name and call.name:
        call.query = {**call.query, "fieldSelector": [f"metadata.name={call.name}"]}
        call.name = ""
