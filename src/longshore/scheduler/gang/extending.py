"""Asks an extender what a cycle has to know, so that the cycle can be decided again with the answers.

Questions of one round are asked side by side. Answers hold until the cycle could be decided without another
question: the next one asks anew. An extender that cannot be reached, answers late or with nonsense has an
answer, too: the problem.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from longshore.client import Unreachable
from longshore.machinery.time.clock import Clock
from longshore.scheduler.gang.extender_answers import Answer, Question
from longshore.scheduler.gang.rules.extender import url_of
from longshore.scheduler.gang.settings import Plugin

Post = Callable[[str, bytes], Awaitable[bytes]]
"""Posts a JSON body to a URL and gives the answer's. Raises Unreachable, also for answers that are no 200."""

_SIDE_BY_SIDE: Final = 16
"""Upstream asks as many nodes at a time."""
_MAX_ROUNDS: Final = 1000
"""Of one cycle; a question after that counts as one without an answer."""
_decode: Final = msgspec.json.Decoder(dict[str, object]).decode

log = logging.getLogger(__name__)


async def nobody(url: str, body: bytes) -> bytes:
    """For processes that have no business with other servers."""
    raise Unreachable(f"POST {url}: nobody can be asked from here")


class Complaints:
    """Problems of an extender, each told once, until it is over."""

    def __init__(self) -> None:
        self._told = ""

    def note(self, problem: str) -> None:
        """The last problem; empty when all went well."""
        if problem and problem != self._told:
            log.warning("%s", problem)
        self._told = problem


class Conversation:
    """With the extender, about one kind of cycle. `again` is called when there are new answers."""

    def __init__(self, post: Post, clock: Clock, complaints: Complaints, again: Callable[[], None]) -> None:
        self._post, self._clock, self._complaints, self._again = post, clock, complaints, again
        self.answers: dict[Question, Answer] = {}
        self._rounds = 0
        self._asking: asyncio.Task[None] | None = None
        self._telling: set[asyncio.Task[None]] = set()

    def ask(self, plugin: Plugin, questions: Sequence[Question], opening: bytes) -> None:
        """Begins to ask, unless that is under way. `opening` is what is told first of all."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask(plugin, questions, opening))

    def over(self, plugin: Plugin) -> None:
        """The cycle needed nothing more: the next one asks anew."""
        if self._rounds and plugin.argument("extender.onSessionCloseVerb"):
            telling = asyncio.create_task(self._tell(plugin, "onSessionCloseVerb", b"{}"))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
        self.answers, self._rounds = {}, 0

    async def close(self) -> None:
        tasks = [*self._telling, *((self._asking,) if self._asking is not None else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, plugin: Plugin, questions: Sequence[Question], opening: bytes) -> None:
        self._rounds += 1
        if self._rounds == 1 and opening:
            await self._tell(plugin, "onSessionOpenVerb", opening)
        turns = asyncio.Semaphore(_SIDE_BY_SIDE)
        seconds: float = plugin.argument("extender.httpTimeout")

        async def one(question: Question) -> None:
            async with turns:
                self.answers[question] = await self._answer(question, seconds)

        if self._rounds <= _MAX_ROUNDS:
            await asyncio.gather(*map(one, questions))
        else:
            self.answers |= dict.fromkeys(questions, Answer(problem="the extender was asked too often"))
        self._complaints.note(next((a.problem for q in questions if (a := self.answers[q]).problem), ""))
        self._again()

    async def _answer(self, question: Question, seconds: float) -> Answer:
        try:
            async with self._clock.timeout(seconds):
                return Answer(_decode(await self._post(*question)))
        except TimeoutError:
            return Answer(problem=f"extender: POST {question.url}: no answer within {seconds:g} s")
        except (Unreachable, msgspec.DecodeError) as err:
            return Answer(problem=f"extender: {err}")

    async def _tell(self, plugin: Plugin, verb: str, body: bytes) -> None:
        """Says something to which no answer is needed."""
        url, seconds = url_of(plugin, verb), plugin.argument("extender.httpTimeout")
        try:
            async with self._clock.timeout(seconds):
                await self._post(url, body)
        except (TimeoutError, Unreachable) as err:
            self._complaints.note(f"extender: {err or f'POST {url}: no answer within {seconds:g} s'}")
