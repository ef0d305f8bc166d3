"""Wraps a runtime and follows which of its containers run, and when one ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from longshore.node.runtime import Container, ContainerState, Key, Runtime


class FollowedRuntime:
    """A runtime that passes all calls on, and tracks its running containers."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.name = runtime.name
        self.features, self.problem, self.usage = runtime.features, runtime.problem, runtime.usage
        self.signal, self.remove, self.close = runtime.signal, runtime.remove, runtime.close
        self.exec, self.attach = runtime.exec, runtime.attach
        self.running: dict[tuple[str, str], ContainerState] = {}
        """The running containers, by pod and container."""
        self._waiting: dict[Key, asyncio.Event] = {}

    def runs(self, key: Key) -> bool:
        state = self.running.get(key[:2])
        return state is not None and state.key == key

    def end_of(self, key: Key) -> asyncio.Event:
        """An event that is set when the container has ended, or already if it does not run."""
        if self.runs(key):
            return self._waiting.setdefault(key, asyncio.Event())
        over = asyncio.Event()
        over.set()
        return over

    async def open(self, changed: Callable[[ContainerState], None]) -> list[ContainerState]:
        def told(state: ContainerState) -> None:
            if state.phase != "running":
                self._ended(state.key)
            changed(state)

        states = await self.runtime.open(told)
        self.running = {state.key[:2]: state for state in states if state.phase == "running"}
        for key in [key for key in self._waiting if not self.runs(key)]:
            self._waiting.pop(key).set()
        return states

    def start(self, container: Container) -> Awaitable[ContainerState]:
        starting = asyncio.ensure_future(self.runtime.start(container))
        starting.add_done_callback(self._begun)
        return starting

    def _begun(self, starting: asyncio.Future[ContainerState]) -> None:
        if not starting.cancelled() and starting.exception() is None:
            state = starting.result()
            if state.phase == "running":
                self.running[state.key[:2]] = state

    def _ended(self, key: Key) -> None:
        if self.runs(key):
            del self.running[key[:2]]
        event = self._waiting.pop(key, None)
        if event is not None:
            event.set()
