"""The server's side of large writes: starts the process, answers its questions, stages its writes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from longshore.api import errors
from longshore.api.types import decode
from longshore.apiserver.answer import Answer, DocumentAnswer
from longshore.apiserver.large.worker_messages import (
    LENGTH,
    Done,
    Failed,
    FromWorker,
    Place,
    StoreAnswer,
    Stored,
    StoreQuestion,
    ToWorker,
    Write,
    decode_from_worker,
    framed,
)
from longshore.apiserver.request.call import Call
from longshore.store import Entry, Key, Snapshot, Staged, Store

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

log = logging.getLogger("longshore.http")

MAX_OBJECT_BYTES: Final = 3 << 20
"""Limit of an object that a large body makes. It is read and written on the loop: 10 ms for each MiB."""
_TRIES: Final = 4
_WORK_SECONDS: Final = 120.0
"""Time limit for one body. The worst of 3 MiB takes 15 s of processor time."""
_IDLE_SECONDS: Final = 60.0


class LargeWrites:
    """The large writes of one API, one after the other. Users take turns."""

    def __init__(self, api: Api) -> None:
        self._api, self._store = api, api.store
        self._turns = _UsersTurns()
        self._worker: _Worker | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def write(self, call: Call) -> Answer | DocumentAnswer:
        """The answer of `Api.carry_out`, with its writes staged."""
        async with self._turns.of(call.user.name):
            if self._idle is not None:
                self._idle.cancel()
            try:
                async with asyncio.timeout(_WORK_SECONDS):
                    return await self._written(call)
            except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
                self.close()
                raise errors.internal("the body takes too much to read") from None
            except asyncio.CancelledError:
                self.close()  # the result of the process is not needed any more
                raise
            finally:
                self._idle = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self.close)

    def close(self) -> None:
        """Ends the process. The next large body starts another."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    async def _written(self, call: Call) -> Answer | DocumentAnswer:
        for _ in range(_TRIES):
            if self._worker is None:
                self._worker = await _Worker.start()
            read: list[tuple[StoreQuestion, Any]] = []
            await self._worker.send(self._message(call))
            while isinstance(message := await self._worker.receive(), StoreQuestion):
                found = self._look(message)
                read.append((message, _mark(found)))  # each answer: a verb may ask twice and get two
                await self._worker.send(_store_answer(found, self._store))
            call.warnings[:] = message.warnings
            if isinstance(message, Failed):
                raise _refusal(message, call)
            if all(_mark(self._look(question)) == mark for question, mark in read):
                return self._stage(call, message)
        raise errors.conflict(call.resource.group, call.resource.plural, call.name, errors.MODIFIED)

    def _message(self, call: Call) -> Write:
        row, user = call.resource, call.user
        return Write(
            row.group,
            row.version,
            row.plural,
            call.verb,
            call.namespace,
            call.name,
            call.subresource,
            {key: list(values) for key, values in call.query.items()},
            user.name,
            list(user.groups),
            user.uid,
            {key: list(values) for key, values in user.extra.items()},
            call.agent,
            call.body,
            call.content_type,
            call.warnings,
            self._api.clock.timestamp(),
        )

    def _look(self, question: StoreQuestion) -> Any:
        if question.name == "revision":
            return self._store.revision
        ask, args = getattr(self._store, question.name), question.args
        return ask(_key(args)) if question.name in ("latest", "get") else ask(*args)

    def _stage(self, call: Call, done: Done) -> Answer | DocumentAnswer:
        store, api = self._store, self._api
        if any(len(each.raw) > MAX_OBJECT_BYTES for each in done.writes):
            raise errors.StatusError(
                413, "RequestEntityTooLarge", "etcdserver: request is too large", details={}
            )
        if done.needs_room:
            store.check_room()
        staged: list[Staged] = []
        for each in done.writes:
            stage = store.stage_delete if each.deletes else store.stage
            staged.append(stage(_key(each.place), decode(each.raw), joined=each.joined))
        if api.plane.on_delete is not None:
            for raw in done.deleted:
                api.plane.on_delete(call, decode(raw))
        behind = [staged[number] for number in done.staged]
        if done.document is not None:
            return DocumentAnswer(decode(done.document), done.code, behind)
        if done.obj is not None:
            return Answer(call.resource, obj=decode(done.obj), code=done.code, staged=behind)
        if isinstance(done.entry, int):
            return Answer(call.resource, entry=staged[done.entry].entry, code=done.code, staged=behind)
        assert done.entry is not None
        return Answer(call.resource, entry=store.latest(_key(done.entry)), code=done.code, staged=behind)


class _Worker:
    """The process and the socket to it."""

    def __init__(
        self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process, self._reader, self._writer = process, reader, writer

    @classmethod
    async def start(cls) -> _Worker:
        with contextlib.ExitStack() as undo:
            ours, theirs = socket.socketpair()
            undo.callback(ours.close)
            with theirs:
                command = [sys.executable, "-m", __package__, str(theirs.fileno())]
                # Starting it takes a millisecond or two, and the loop has no better way to pass a socket.
                process = subprocess.Popen(  # noqa: ASYNC220
                    command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
                )
            undo.callback(_kill, process)
            reader, writer = await asyncio.open_connection(sock=ours)  # the client may be gone meanwhile
            undo.pop_all()
        return cls(process, reader, writer)

    async def send(self, message: ToWorker) -> None:
        self._writer.write(framed(message))
        await self._writer.drain()

    async def receive(self) -> FromWorker:
        head = await self._reader.readexactly(LENGTH.size)
        message: FromWorker = decode_from_worker(await self._reader.readexactly(*LENGTH.unpack(head)))
        return message

    def end(self) -> None:
        self._writer.close()
        _kill(self._process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)  # a killed process is gone at once


def _key(place: Place | tuple[str | None, ...]) -> Key:
    storage, namespace, name = place
    return Key(storage or "", namespace or "", name or "")


def _store_answer(found: Any, store: Store) -> StoreAnswer:
    if isinstance(found, bool):
        return StoreAnswer([], is_empty=found)
    if isinstance(found, int):
        return StoreAnswer([], found)
    if found is None or isinstance(found, Entry):
        return StoreAnswer([] if found is None else [_stored(found)])
    revision = found.revision if isinstance(found, Snapshot) else store.revision
    return StoreAnswer([_stored(entry) for entry in found], revision)


def _stored(entry: Entry) -> Stored:
    return entry.key.storage, entry.key.namespace, entry.key.name, entry.revision, entry.raw


def _mark(found: Any) -> Any:
    """A value that changes if the answer of the store changes."""
    if isinstance(found, Entry):
        return found.revision
    if isinstance(found, list | Snapshot):
        return [entry.revision for entry in found]
    return found if isinstance(found, bool) else None


def _refusal(failed: Failed, call: Call) -> errors.StatusError:
    if failed.trace:
        log.error("request failed: %s %s\n%s", call.verb, call.resource.qualified, failed.trace)
        return errors.internal("see the server's log")
    return errors.StatusError(
        failed.code,
        failed.reason,
        failed.message,
        details=failed.details,
        metadata=failed.metadata,
        headers=failed.headers,
    )


class _UsersTurns:
    """One large body at a time. Users take turns: a user that sends many delays only its own."""

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Calls that wait, by user; the first user is next."""

    @asynccontextmanager
    async def of(self, user: str) -> AsyncIterator[None]:
        """Waits for a turn of this user, which lasts as long as the block."""
        await self._begin(user)
        try:
            yield
        finally:
            self._pass_on()

    async def _begin(self, user: str) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._pass_on()  # it came at the last moment
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            user = next(iter(self._waiting))
            queue = self._waiting.pop(user)
            turn = queue.popleft()
            if queue:
                self._waiting[user] = queue  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self._is_taken = False
