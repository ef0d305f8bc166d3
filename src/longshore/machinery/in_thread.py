"""A parameter: how to run work that would block the event loop, such as removing many files.

`asyncio.to_thread` uses a thread. A virtual clock cannot see threads, so there `inline` runs it at once.
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
