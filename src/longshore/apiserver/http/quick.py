"""Requests that have come as a whole, carried out the moment they are there.

A write never waits but for the journal, so it needs no task of its own: it is staged at once, and answered by
whoever reports that it is durable. A read of what there is now does not wait at all. Either costs a third of
what it costs to do the same step by step.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from longshore.api import errors
from longshore.apiserver.answer import Answer, ListAnswer
from longshore.apiserver.http import respond
from longshore.apiserver.http.heads import Read
from longshore.apiserver.http.plain import Reply
from longshore.apiserver.request.call import Call
from longshore.apiserver.request.negotiate import Output
from longshore.store import StoreError

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.metrics import Metrics

log = logging.getLogger("longshore.http")

Answered = Callable[[Reply], None]
_Found = TypeVar("_Found")
_waiting: set[asyncio.Task[None]] = set()


class Quick:
    """One request on its way. Calls `answered` once, now or later, and never raises."""

    __slots__ = ("_answer", "_answered", "_api", "_began", "_call", "_metrics", "_output", "_read")

    def __init__(
        self, api: Api, metrics: Metrics, call: Call, output: Output, read: Read, answered: Answered
    ) -> None:
        self._api, self._metrics = api, metrics
        self._call, self._output, self._read, self._answered = call, output, read, answered
        self._began = time.perf_counter()
        self._answer: Answer | ListAnswer | None = None

    def begin(self) -> None:
        """Reads, or stages the write, or answers why not."""
        try:
            answer = self._answer = self._carry_out()
        except errors.StatusError as error:
            if error.code == 409:
                self._wait(error)  # told once what it is about can be read, as by `Api`
            else:
                self._finish(self._refused(error))
        except Exception as error:
            self._finish(self._failed(error))
        else:
            if len(answer.staged) == 1:
                answer.staged[0].then(self._durable)
            elif answer.staged:
                self._wait(None)
            else:
                self._durable(None)

    def _carry_out(self) -> Answer | ListAnswer:
        api, call = self._api, self._call
        match call.verb:
            case "get":
                return _now(api.get(call))
            case "list":
                return _now(api.list(call))
            case _:
                return api.write(call)

    def _durable(self, error: Exception | None) -> None:
        try:
            if error is not None:
                raise error
            assert self._answer is not None
            reply = respond.reply(self._read, self._api, self._call, self._output, self._answer)
        except Exception as problem:
            reply = self._failed(problem)
        self._finish(reply)

    def _wait(self, refused: errors.StatusError | None) -> None:
        """For conflicts, and for writes that bring others along."""
        task = asyncio.ensure_future(self._until_settled(refused))
        _waiting.add(task)
        task.add_done_callback(_waiting.discard)

    async def _until_settled(self, refused: errors.StatusError | None) -> None:
        if refused is not None:
            await self._api.store.settled()
            self._finish(self._refused(refused))
            return
        assert self._answer is not None
        try:
            for staged in self._answer.staged:
                await staged.done()
        except Exception as error:
            self._durable(error)
        else:
            self._durable(None)

    def _refused(self, error: errors.StatusError) -> Reply:
        return respond.failure(self._read, error, self._call.warnings)

    def _failed(self, error: Exception) -> Reply:
        return self._refused(problem_of(error, self._read.method, self._read.target))

    def _finish(self, reply: Reply) -> None:
        self._metrics.finished(self._call, reply.code, time.perf_counter() - self._began)
        self._answered(reply)


def _now(work: Coroutine[Any, Any, _Found]) -> _Found:
    """The result of something that could wait, but has no reason to: see `Handler.at_once`."""
    try:
        work.send(None)
    except StopIteration as done:
        found: _Found = done.value
        return found
    work.close()
    raise RuntimeError("a read that was to be quick would wait")


def problem_of(error: Exception, method: str, path: str) -> errors.StatusError:
    """The error that a client sees: nothing of the inside, which goes to the log."""
    if isinstance(error, errors.StatusError):
        return error
    if isinstance(error, StoreError):
        return _store_failed(error)
    log.error("request failed: %s %s", method, path, exc_info=error)
    return errors.internal("see the server's log")


def _store_failed(error: StoreError) -> errors.StatusError:
    """A write that could not be made durable did not happen; the client may try again."""
    return errors.StatusError(
        500,
        "InternalError",
        f"Internal error occurred: {error}",
        details={"causes": [{"message": str(error)}]},
    )
