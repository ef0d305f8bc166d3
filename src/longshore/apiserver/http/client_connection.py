"""One client connection: reads requests, sends answers in the same order, and limits every wait.

One request is answered at a time. Meanwhile the next one may be read, but no more: then reading pauses, as it
does if the client does not read its answers. A request whose answer waits only for the journal has no task;
the callback of the durable write sends the answer.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from longshore.api import errors
from longshore.apiserver.http import authn
from longshore.apiserver.http.begun import Begun, Durable, Front, Queued, Ready, Streams, Upgrades, Waits
from longshore.apiserver.http.deadline import Deadline
from longshore.apiserver.http.parser import BETWEEN, BODY, HEAD, Phase, RequestParser
from longshore.apiserver.http.request import Headers, Request
from longshore.apiserver.http.response import CONTINUE, Fields, Reply, switch_head
from longshore.apiserver.http.sender import Sender
from longshore.apiserver.http.timeouts import Timeouts

MAX_NEWCOMERS: Final = 1024
"""Connections that have shown no credentials yet. Above this number the oldest of them is aborted."""
_UNREAD_BYTES: Final = 1 << 16
"""Buffer limit of a connection that changed its protocol, above which reading from the client pauses."""


class Connection(asyncio.Protocol):
    """One client connection. It is in `connections` for as long as it is open."""

    __slots__ = (
        "_busy",
        "_closing",
        "_connections",
        "_deadline",
        "_discards",
        "_drained",
        "_for",
        "_front",
        "_full",
        "_half_closed",
        "_held",
        "_is_new",
        "_loop",
        "_lost",
        "_newcomers",
        "_parser",
        "_paused",
        "_reader",
        "_reply_to_write",
        "_task",
        "_timeouts",
        "_transport",
        "_unsent",
    )  # fmt: skip

    def __init__(
        self,
        front: Front,
        timeouts: Timeouts,
        loop: asyncio.AbstractEventLoop,
        connections: set[Connection],
        newcomers: dict[Connection, None],
    ) -> None:
        self._newcomers = newcomers
        self._is_new = True
        """Whether this connection has shown no credentials yet."""
        self._front, self._timeouts, self._loop, self._connections = front, timeouts, loop, connections
        self._deadline = Deadline(loop, self._expired)
        self._for: Phase | None = HEAD
        """The phase that the deadline is for; None while a request is answered."""
        self._busy: Request | None = None
        """The request being answered."""
        self._task: asyncio.Task[None] | None = None
        """The task of the request being answered, if it needs one."""
        self._reply_to_write: Callable[[Exception | None], Reply] | None = None
        """Makes the answer, if the request being answered is a write on its way to the journal."""
        self._held = b""
        """Bytes after a request to change the protocol, kept until the protocol is known."""
        self._reader: asyncio.StreamReader | None = None
        """Takes all bytes of the client, once the connection has changed its protocol."""
        self._discards = False
        """Whether the last answer is sent, and further bytes of the client are thrown away."""
        self._closing = False
        """Whether the server is stopping."""
        self._half_closed = False
        """Whether the client has closed its sending side."""
        self._paused = False
        """Whether reading from the client is paused."""
        self._full = False
        """Whether the write buffer is full, since the client reads too slowly."""
        self._unsent = 0
        self._drained: asyncio.Future[None] | None = None
        self._lost = False

    # ---- what the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        tls = transport.get_extra_info("ssl_object")
        user = authn.user_of_certificate(tls) if tls is not None else None
        self._parser = RequestParser(user)
        self._deadline.set(self._timeouts.head)
        self._connections.add(self)
        if user is not None:
            self._is_new = False
            return
        self._newcomers[self] = None
        if len(self._newcomers) > MAX_NEWCOMERS:
            next(iter(self._newcomers)).abort()

    def data_received(self, data: bytes) -> None:
        if self._reader is not None:
            self._reader.feed_data(data)
            return
        if self._discards:
            return
        parser = self._parser
        if self._held:
            self._held += data
        else:
            self._held = parser.feed(data)
        if self._busy is None:
            self._go_on()
        if self._busy is not None and (
            parser.requests or self._held or parser.phase is not BETWEEN or parser.problem is not None
        ):
            self._pause()

    def eof_received(self) -> bool:
        """Keeps a plain connection open for the answer to a write; TLS has no half-closed connections."""
        if self._reader is not None:
            self._reader.feed_eof()
            return False
        self._half_closed = True
        return self._reply_to_write is not None and self._transport.get_extra_info("sslcontext") is None

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        if self._busy is None and not self._discards:
            self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._deadline.end()
        self._parser.close()
        if self._task is not None:
            self._task.cancel()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        if self._reader is not None:
            self._reader.feed_eof()
        self._connections.discard(self)
        self._newcomers.pop(self, None)

    # ---- what the server and streams call

    @property
    def busy(self) -> bool:
        return self._busy is not None

    @property
    def receives(self) -> bool:
        """Whether only part of a request has arrived."""
        return self._busy is None and not self._discards and self._parser.phase is not BETWEEN

    @property
    def stuck_seconds(self) -> float:
        """Seconds for which a client may leave sent data unread."""
        return self._timeouts.stuck

    def stop(self) -> None:
        """Closes the connection after the answer under way, if there is one."""
        self._closing = True
        if self._busy is None:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def close(self) -> None:
        self._transport.close()

    def write(self, data: bytes) -> None:
        """Raises ConnectionResetError when the client has gone."""
        if self._lost or self._transport.is_closing():
            raise ConnectionResetError("the client is gone")
        self._transport.write(data)

    async def drain(self, seconds: float | None = None) -> None:
        """Waits while the client does not read. Raises TimeoutError after `seconds`."""
        if not self._full:
            return
        async with asyncio.timeout(seconds):
            while self._full and not self._lost:
                if self._drained is None or self._drained.done():
                    self._drained = self._loop.create_future()
                await asyncio.shield(self._drained)
        if self._lost:
            raise ConnectionResetError("the client is gone")

    def switch(self, headers: Fields) -> asyncio.StreamReader:
        """Changes the protocol: answers with these headers, and returns the reader of the client's bytes."""
        self.write(switch_head(headers))
        reader = self._reader = asyncio.StreamReader(_UNREAD_BYTES)
        reader.set_transport(self._transport)
        self._unpause()
        if self._held:
            reader.feed_data(self._held)
            self._held = b""
        return reader

    # ---- one request after the other

    def _go_on(self) -> None:
        """Begins every request that can begin, then sets the deadline for the next event."""
        if self._lost:
            return
        parser = self._parser
        while self._busy is None and not self._full and not self._discards:
            if parser.requests:
                self._begin(parser.requests.popleft())
            elif self._held:
                self._held = parser.feed(self._held)
            elif parser.problem is not None:
                self._refuse(parser.pending, parser.problem)
            else:
                break
        if self._busy is not None or self._discards:
            return
        if self._full:
            self._for, self._unsent = None, self._transport.get_write_buffer_size()
            self._deadline.set(self._timeouts.stuck)
            self._pause()
            return
        if self._half_closed:
            self._transport.close()
            return
        if parser.phase is BODY:
            self._await_body()
        elif parser.phase is not self._for:
            self._for = parser.phase
            self._deadline.set(self._timeouts.head if parser.phase is HEAD else self._timeouts.idle)
        self._unpause()

    def _begin(self, request: Request) -> None:
        self._busy, self._for = request, None
        self._deadline.clear()
        begun = self._front.begin(request)
        if self._is_new and request.is_known:
            self._is_new = False
            self._newcomers.pop(self, None)
        self._become(request, begun)

    def _become(self, request: Request, begun: Begun) -> None:
        if type(begun) is Ready:
            self._reply(begun.reply)
        elif type(begun) is Durable:
            self._reply_to_write = begun.reply
            begun.last.then(self._durable)
        elif type(begun) is Queued:
            begun.when_due(partial(self._due, request, begun))
        else:
            self._task = self._loop.create_task(self._work(request, begun))

    def _due(self, request: Request, queued: Queued) -> None:
        """Begins a request in its client's turn, unless the client has gone."""
        if not self._lost:
            self._become(request, queued.begin())
            self._go_on()

    def _durable(self, error: Exception | None) -> None:
        make, self._reply_to_write = self._reply_to_write, None
        assert make is not None
        self._reply(make(error))
        self._go_on()

    def _reply(self, reply: Reply, *, unread: bool = False) -> None:
        """Sends the answer to the running request; `unread` means that it has not arrived whole."""
        request, self._busy = self._busy, None
        transport = self._transport
        if request is None or self._lost or transport.is_closing():
            return
        last = unread or self._closing
        pieces = reply.pieces(request, last=last)
        if len(pieces) == 1:
            transport.write(pieces[0])
        else:
            transport.writelines(pieces)
        if unread:
            self._linger()
        elif last or request.last:
            self._discards = True
            transport.close()

    def _refuse(self, request: Request | None, problem: errors.StatusError) -> None:
        """Refuses bytes that are no HTTP, too many or too slow, and reads no further request."""
        self._busy = request or Request("", "", Headers())
        self._reply(self._front.refuse(self._busy, problem), unread=True)

    def _linger(self) -> None:
        """Waits before closing: if the client still sends, closing at once could make it lose the answer."""
        self._discards, self._for = True, None
        self._unpause()
        self._deadline.set(self._timeouts.linger)

    def _await_body(self) -> None:
        request = self._parser.pending
        assert request is not None
        if request.exchange is not None:
            return
        request.exchange = exchange = self._front.admit(request)
        if exchange.refusal is not None:
            self._busy = request
            self._reply(exchange.refusal, unread=True)
            return
        if request.headers.get("expect", "").lower() == "100-continue" and not request.old:
            self._transport.write(CONTINUE)
        self._for = BODY
        self._deadline.set(self._timeouts.body)

    async def _work(self, request: Request, begun: Begun) -> None:
        """Answers a request that waits, streams or changes the protocol."""
        sender = Sender(self, request)
        try:
            if isinstance(begun, Waits):
                begun = await begun.work()
            if isinstance(begun, Streams):
                await begun.run(sender)
                sender.finish()
            elif isinstance(begun, Upgrades):
                await begun.run(self, request)
                self._transport.close()
        except (ConnectionError, TimeoutError) as gone:
            # The task and the error refer to each other, which would keep the unsent bytes in memory.
            traceback.clear_frames(gone.__traceback__)
            self._transport.abort()
        except Exception as error:  # whatever a handler raises, the client gets an answer or an end
            if sender.started or self._reader is not None:
                self._front.refuse(request, error)  # for the log
                self._transport.abort()
            else:
                begun = Ready(self._front.refuse(request, error))
        finally:
            self._task = None
        if isinstance(begun, Ready):
            self._reply(begun.reply)
        else:
            self._busy = None
            if request.last or self._closing:
                self._transport.close()
        if self._reader is None and not self._transport.is_closing():
            self._go_on()

    # ---- time and room

    def _expired(self) -> None:
        if self._discards:
            self._transport.close()
        elif self._full:
            left = self._transport.get_write_buffer_size()
            if left < self._unsent:  # slow, but it reads
                self._unsent = left
                self._deadline.set(self._timeouts.stuck)
            else:
                self._transport.abort()
        elif self._for is BODY:
            why = "Timeout: the body of the request did not arrive in time"
            self._refuse(self._parser.pending, errors.StatusError(408, "Timeout", why, details={}))
        else:
            self._transport.close()

    def _pause(self) -> None:
        if not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _unpause(self) -> None:
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
