"""Large answers: made object by object in a thread beside the loop, which the interpreter serves in between.

One thread does all of it, one answer after the other. While it works, the interpreter changes threads every
0.5 ms instead of every 5. Large bodies go further, to a process of their own: see `apiserver/large`.
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
"""Of a body that is not read on the loop. The worst below takes 80 ms."""
_SWITCH_SECONDS: Final = 0.0005
_DECODED_BYTES: Final = 4 << 20
T = TypeVar("T")


async def run(work: Callable[[], T]) -> T:
    """The result of pure work, done in the thread."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), _quick_to_switch, work)


def private(answer: Rendered) -> Rendered:
    """An answer for the thread: with entries whose decoded views are its own."""
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
