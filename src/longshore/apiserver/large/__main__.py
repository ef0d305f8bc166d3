"""The process that works on large writes: `python -m longshore.apiserver.large FD`, started by the server.

It reads calls from the socket that it was started with, one after the other, and ends when the server is
gone. It keeps nothing between two calls.
"""

from __future__ import annotations

import random
import resource
import signal
import socket
import sys
import time
import traceback
from typing import TYPE_CHECKING, Final, cast

import msgspec

from longshore.api.errors import StatusError
from longshore.api.types import encode
from longshore.apiserver.answer import Answer, DocumentAnswer
from longshore.apiserver.api import Api, ApiParts, PlaneParts
from longshore.apiserver.large.view import StoredView
from longshore.apiserver.large.worker_messages import (
    LENGTH,
    Done,
    Failed,
    FromWorker,
    StoreAnswer,
    StoreQuestion,
    ToWorker,
    Write,
    decode_for_worker,
    framed,
)
from longshore.apiserver.request.call import Call, User

if TYPE_CHECKING:
    from longshore.api.clock import Clock
    from longshore.store import Store

_MAX_MEMORY_BYTES: Final = 4 << 30
"""Limit of the address space: a body that needs more ends this process, not the server."""


class _Clock:
    """A clock that stands still while a call is worked on."""

    def __init__(self, now: float) -> None:
        self._now = now

    def timestamp(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return time.monotonic()


class _Line:
    """The socket to the server."""

    def __init__(self, sock: socket.socket) -> None:
        self._file = sock.makefile("rb")
        self._sock = sock

    def read(self) -> ToWorker | None:
        """The next message; None when the server is gone."""
        head = self._file.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return None
        return cast("ToWorker", decode_for_worker(self._file.read(*LENGTH.unpack(head))))

    def send(self, message: FromWorker) -> None:
        self._sock.sendall(framed(message))

    def ask(self, question: StoreQuestion) -> StoreAnswer:
        """The store's answer to a question."""
        self.send(question)
        answer = self.read()
        if not isinstance(answer, StoreAnswer):
            raise SystemExit  # the server is gone
        return answer


def _outcome(line: _Line, write: Write, rng: random.Random) -> Done | Failed:
    view = StoredView(line.ask)
    api = Api(ApiParts(cast("Store", view), cast("Clock", _Clock(write.now)), rng, shortcuts=False))
    deleted: list[bytes] = []
    api.use_plane(PlaneParts(on_delete=lambda call, obj: deleted.append(encode(obj))))
    resource_ = api.catalog.find(write.group, write.version, write.plural)
    assert resource_ is not None, "the server found it"
    user = User(write.user, tuple(write.groups), write.uid, {k: tuple(v) for k, v in write.extra.items()})
    call = Call(
        resource_,
        write.verb,
        write.namespace,
        write.name,
        write.subresource,
        write.query,
        user,
        write.agent,
        write.body,
        write.content_type,
        list(write.warnings),
    )
    try:
        answer = api.carry_out(call)
    except StatusError as error:
        return Failed(
            error.code,
            error.reason,
            error.message,
            error.details,
            error.metadata,
            error.headers,
            warnings=call.warnings,
        )
    assert isinstance(answer, Answer | DocumentAnswer), "nothing else comes of a body"
    numbers = {id(entry): number for number, (entry, _, _) in enumerate(view.planned)}
    staged = [numbers[id(each.entry)] for each in answer.staged]
    done = Done(view.writes(), staged, call.warnings, answer.code, view.needs_room, deleted)
    if isinstance(answer, DocumentAnswer):
        return msgspec.structs.replace(done, document=encode(answer.document))
    if answer.obj is not None:
        return msgspec.structs.replace(done, obj=encode(answer.obj))
    assert answer.entry is not None
    key = answer.entry.key
    place = (key.storage, key.namespace, key.name)
    return msgspec.structs.replace(done, entry=numbers.get(id(answer.entry), place))


def main(descriptor: int) -> None:
    """Works until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # sent by a terminal: the server ends this process
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    line, rng = _Line(socket.socket(fileno=descriptor)), random.Random()
    while (message := line.read()) is not None:
        assert isinstance(message, Write)
        try:
            outcome: Done | Failed = _outcome(line, message, rng)
        except Exception:  # the server logs it and answers with 500
            outcome = Failed(500, "", "", trace=traceback.format_exc())
        line.send(outcome)


if __name__ == "__main__":
    main(int(sys.argv[1]))
