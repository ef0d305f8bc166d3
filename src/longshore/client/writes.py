"""Several writes at once, as values, and the pace at which they are made.

await client.write([Create(PODS, pod, "ns") for pod in pods], slow_start())
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client.ask import Ask, named, place_of, typed
from longshore.client.errors import Unreachable
from longshore.client.protocol import PatchType, What

if TYPE_CHECKING:
    from longshore.client.client import Client

Result: TypeAlias = Obj | StatusError | Unreachable
"""The object as written, or the error that the verb would have raised."""
Pace: TypeAlias = Iterable[int]
"""Sizes of batches. A batch begins when all writes of the one before were answered without an error."""

_T = TypeVar("_T")


class Create(msgspec.Struct, frozen=True):
    """One object to be created."""

    what: What
    obj: Obj
    namespace: str = ""

    def by(self, client: Client) -> Coroutine[Any, Any, Obj]:
        """Makes the write as a call of `client`."""
        return client.create(self.what, self.obj, self.namespace)

    def ask(self, resource: Resource, query: dict[str, str]) -> Ask:
        place = place_of(resource, self.obj, self.namespace)
        return Ask("create", resource, place, query=query, value=typed(resource, self.obj, ""))


class Patch(msgspec.Struct, frozen=True):
    """A change of one object."""

    what: What
    name: str
    patch: Any
    namespace: str = ""
    type: PatchType = PatchType.MERGE

    def by(self, client: Client) -> Coroutine[Any, Any, Obj]:
        """Makes the write as a call of `client`."""
        return client.patch(self.what, self.name, self.patch, self.namespace, type=self.type)

    def ask(self, resource: Resource, query: dict[str, str]) -> Ask:
        ask = named("patch", resource, self.name, self.namespace, "", query)
        ask.value, ask.content_type = self.patch, self.type.value
        return ask


Write: TypeAlias = Create | Patch


def slow_start(first: int = 1) -> Iterator[int]:
    """Sizes of batches that double: an exhausted quota costs a few refused writes instead of thousands."""
    size = first
    while True:
        yield size
        size *= 2


def batches(writes: Sequence[_T], answers: Sequence[object], pace: Pace | None) -> Iterator[Sequence[_T]]:
    """The batches of `writes`, all in one without a pace. The caller adds the answers to each batch to
    `answers` before it takes the next."""
    for size in (len(writes),) if pace is None else pace:
        begun = len(answers)
        if begun >= len(writes):
            return
        yield writes[begun : begun + size]
        if any(isinstance(answer, Exception) for answer in answers[begun:]):
            return


async def side_by_side(calls: Sequence[Coroutine[Any, Any, Obj]]) -> list[Result]:
    """Makes the calls concurrently and returns their results. A single call needs no task."""
    if len(calls) == 1:
        try:
            return [await calls[0]]
        except (StatusError, Unreachable) as err:
            return [err]
    import asyncio  # 60 modules, which commands that speak plain HTTP do without

    answers: list[Result] = []
    for answer in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(answer, BaseException) and not isinstance(answer, StatusError | Unreachable):
            raise answer
        answers.append(answer)
    return answers
