"""Renders large answers object by object in a thread, so that the event loop keeps running in between.

One thread renders all of them, one after the other. While it works, the interpreter switches threads every
0.5 ms instead of every 5. Large request bodies are read by a separate process: see `apiserver/large`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final, TypeVar

import msgspec

from longshore.apiserver.answer import Answer, ListAnswer, Rendered
from longshore.store import Entry
from longshore.store.decoded_views import Decoded

LARGE_BYTES: Final = 16 << 10
"""Longer bodies are not read on the loop. The worst body up to this size takes 80 ms."""
_SWITCH_SECONDS: Final = 0.0005
_DECODED_BYTES: Final = 4 << 20
T = TypeVar("T")


async def run(work: Callable[[], T]) -> T:
    """Runs pure work in the thread and returns its result."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), _quick_to_switch, work)


def private(answer: Rendered) -> Rendered:
    """A copy of an answer for the thread, whose entries share no decoded objects with the loop."""
    decoded = Decoded(_DECODED_BYTES)
    if isinstance(answer, ListAnswer):
        return msgspec.structs.replace(answer, entries=[_own(each, decoded) for each in answer.entries])
    if isinstance(answer, Answer) and answer.entry is not None:
        return msgspec.structs.replace(answer, entry=_own(answer.entry, decoded))
    return answer


def _own(entry: Entry, decoded: Decoded) -> Entry:
    return Entry(entry.key, entry.revision, entry.raw, decoded)


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="longshore-aside")


def _quick_to_switch(work: Callable[[], T]) -> T:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        return work()
    finally:
        sys.setswitchinterval(usual)
