"""The front of a cluster for tests: records every request, and injects faults.

Answers as `ApiFront` does. Faults strike before that, as in a proxy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from longshore.api.errors import StatusError
from longshore.apiserver.http import authn
from longshore.apiserver.http.begin import ApiFront
from longshore.apiserver.http.begun import Begun, Durable, Queued, Ready, Streams, Upgrades, Waits
from longshore.apiserver.http.exchange import Exchange
from longshore.apiserver.http.fanout import Fanout
from longshore.apiserver.http.response import Fields, Reply
from longshore.apiserver.http.sender import Sender
from longshore.testing import scripted_answers
from longshore.testing.held_loop import Outside
from longshore.testing.injected_faults import METHODS, Faults
from longshore.testing.scripted_answers import HandAnswer
from longshore.testing.seen_requests import SeenRequest, SeenRequests
from longshore.testing.still_time import StillTime

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.http.listener import Listener
    from longshore.apiserver.http.request import Request
    from longshore.machinery.time.clock import Clock
    from longshore.testing.language_door import LanguageDoor

_DOOR: Final = "/testing/"
OVER_HTTP: Final[ContextVar[bool]] = ContextVar("over_http", default=False)
"""Whether the running code answers a client over HTTP."""


class _EagerFanout(Fanout):
    """A fanout that never pauses: while time stands still, a pause would last for ever."""

    async def pause(self) -> None: ...


class ServerOutside(Outside):
    """The clients of one server, which the event loop checks before time passes."""

    listener: Listener | None = None

    def is_sending(self) -> bool:
        return self.listener is not None and self.listener.receives


class ObservedFront(ApiFront):
    """An `ApiFront`. `requests` and `faults` belong to the cluster and outlive it."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        requests: SeenRequests,
        faults: Faults,
        still: StillTime,
        answers: Sequence[HandAnswer],
        door: LanguageDoor | None = None,
    ) -> None:
        super().__init__(api)
        self._door, self._still, self._answers = door, still, answers
        self.outside = ServerOutside()
        self.streams: set[Connection] = set()
        """Connections with an unfinished answer: watches and logs."""
        self.watching.fanout = _EagerFanout()
        self._clock, self._requests, self._faults = clock, requests, faults

    def begin(self, request: Request) -> Begun:
        request.now = self._clock.timestamp
        if self._door is not None and request.target.startswith(_DOOR):
            return self._at_the_door(self._door, request)
        seen = self._requests.note(request)
        try:
            self._still.check_poll(seen)
        except StatusError as err:
            return self._noted(Ready(self.refuse(request, err)), seen)
        if (by_hand := scripted_answers.found(self._answers, seen)) is not None:
            return self._noted(by_hand, seen)
        if request.exchange is None:
            request.exchange = self.admit(request)
        assert isinstance(request.exchange, Exchange), "admitted here"
        call = request.exchange.call
        if call is not None:
            delay, problem = self._faults.strike_call("clients", call)
        else:
            verb = next((verb for verb, method in METHODS.items() if method == request.method), "get")
            delay, problem = self._faults.strike("clients", verb, request.target, "")
        if delay or problem is not None:
            return self._patient(Waits(lambda: self._late(request, seen, delay, problem)), request, seen)
        begun = self._noted(super().begin(request), seen)
        return self._patient(begun, request, seen) if isinstance(begun, Waits) else begun

    def _patient(self, begun: Waits, request: Request, seen: SeenRequest) -> Waits:
        """A wait that ends with a 504 when no call lets time pass."""

        async def work() -> Ready | Streams | Upgrades:
            try:
                with self._still.waiting(seen):
                    return await begun.work()
            except StatusError as err:
                reply = self.refuse(request, err)
                seen.answered(reply.code)
                return Ready(reply)

        return Waits(work)

    def _at_the_door(self, door: LanguageDoor, request: Request) -> Begun:
        try:
            user = authn.authenticate(self.api, request)
        except StatusError as err:
            return Ready(self.refuse(request, err))
        return Waits(lambda: door.answer(request, user))

    async def _late(
        self, request: Request, seen: SeenRequest, delay: float, problem: Exception | None
    ) -> Ready | Streams | Upgrades:
        if delay:
            await self._clock.sleep(delay)
        if problem is not None:
            reply = self.refuse(request, problem)
            seen.answered(reply.code)
            return Ready(reply)
        begun = self._noted(super().begin(request), seen)
        if isinstance(begun, Durable):
            problem = None
            try:
                await begun.last.done()
            except Exception as err:  # the reply says so
                problem = err
            return Ready(begun.reply(problem))
        assert not isinstance(begun, Queued), "clients of a test have no shares"
        return await begun.work() if isinstance(begun, Waits) else begun

    def _noted(self, begun: Begun, seen: SeenRequest) -> Begun:
        match begun:
            case Ready():
                seen.answered(begun.reply.code)
            case Durable():

                def reply(error: Exception | None, make: Durable = begun) -> Reply:
                    made = make.reply(error)
                    seen.answered(made.code)
                    return made

                return Durable(begun.last, reply)
            case Waits():

                async def work(first: Waits = begun) -> Ready | Streams | Upgrades:
                    then = self._noted(await first.work(), seen)
                    assert isinstance(then, Ready | Streams | Upgrades), "waited for already"
                    return then

                return Waits(work)
            case Streams():

                async def run(sender: Sender, stream: Streams = begun) -> None:
                    seen.answered(200)
                    await self._stream(sender, stream, seen)

                return Streams(run, begun.drop)
            case Upgrades():
                seen.answered(101)
        return begun

    async def _stream(self, sender: Sender, stream: Streams, seen: SeenRequest) -> None:
        OVER_HTTP.set(True)
        connection = sender.connection
        self.streams.add(connection)
        noted = _NotedSender(sender, self.outside)
        try:
            with self._still.waiting(seen):
                await stream.run(noted)
        except StatusError as err:
            if not noted.media_type.startswith("application/json"):
                connection.abort()  # an error has no place in a log, and no reader in other formats
                return
            event = {"type": "ERROR", "object": err.status()}
            await noted.send(json.dumps(event).encode() + b"\n")
        finally:
            self.streams.discard(connection)

    def drop_streams(self) -> None:
        """Cuts all connections with a watch or a log, at any byte."""
        for connection in tuple(self.streams):
            connection.abort()


class _NotedSender(Sender):
    """Notes that something was sent to a client."""

    __slots__ = ("_outside", "_sender", "media_type")

    def __init__(self, sender: Sender, outside: Outside) -> None:
        self._sender, self._outside = sender, outside
        self.media_type = ""
        super().__init__(sender.connection, sender.request)

    def start(self, media_type: str, headers: Fields = ()) -> None:
        self._outside.told = True
        self._sender.started = True
        self.media_type = media_type
        super().start(media_type, headers)

    async def send_framed(self, data: bytes) -> None:
        self._outside.told = True
        await super().send_framed(data)
