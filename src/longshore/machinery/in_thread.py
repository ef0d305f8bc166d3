"""Work that would hold up the event loop, such as removing many files, and where it runs: a parameter.

`asyncio.to_thread` is the real way. On a virtual clock, which cannot see threads, it runs at once (`inline`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class InThread(Protocol):
    async def __call__(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `fn(*args, **kwargs)`."""


async def inline(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs `fn` at once, in the event loop."""
    return fn(*args, **kwargs)
