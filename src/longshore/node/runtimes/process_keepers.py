"""The keepers of the process runtime: one starts containers; after an upgrade, earlier keepers may still have
some.

A keeper of another version of longshore cannot be asked to start anything. An idle one is asked to exit, and
its successor takes over its directory. A busy one keeps its containers: it handles their ends, signals and
commands until the runtime has forgotten the last one. New containers start meanwhile under another keeper, in
a directory beside it (`keeper-2`).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from longshore.node.keeper import frames
from longshore.node.runtime import CannotStart
from longshore.node.runtimes.process_link import Link

TERMINALS_VERSION = 3
"""The first version of the protocol whose keepers open terminals themselves."""

log = logging.getLogger(__name__)


class Keepers:
    """`directory` is the first keeper's; those of others have a number behind it. See `Link` for the rest."""

    def __init__(
        self,
        directory: Path,
        greeted: Callable[[list[frames.State]], None],
        ended: Callable[[frames.State], None],
        *,
        owned: bool = False,
    ) -> None:
        self._first = directory
        self._greeted, self._ended, self._owned = greeted, ended, owned
        self.current = self._link(directory)
        """The link to the keeper that starts containers."""
        self._earlier: dict[Link, set[str]] = {}
        """Links to other keepers, each with the keeper's containers that the runtime knows."""
        self._leaving: set[asyncio.Task[None]] = set()

    async def connect(self) -> None:
        """Connects to all keepers that have containers, and to one that starts new ones."""
        current, free = None, []
        for directory in self._directories():
            link = self._link(directory)
            hello = await link.greet()
            if hello is None:
                free.append(directory)
            elif hello["version"] == frames.VERSION and current is None:
                current = link
                link.welcome(hello)
            elif any(state[1] == "running" for state in hello["states"]):
                self._keep(link, hello)
            else:
                await link.dismiss()
                free.append(directory)
        if current is None:
            current = self._link(free.pop(0) if free else self._unused())
            current.welcome(await current.start())
        self.current = current
        for directory in free:  # a new keeper reports what the ended one knew
            link = self._link(directory)
            self._keep(link, await link.start())

    def of(self, key: str) -> Link:
        """The link to the keeper that has a container, or is to start it."""
        for link, keys in self._earlier.items():
            if key in keys:
                return link
        return self.current

    def by_link(self, keys: Iterable[str]) -> dict[Link, list[str]]:
        found: dict[Link, list[str]] = {}
        for key in keys:
            found.setdefault(self.of(key), []).append(key)
        return found

    def check_terminal(self, link: Link) -> None:
        """Raises CannotStart if the keeper is too old to open terminals itself."""
        if link.version < TERMINALS_VERSION:
            raise CannotStart(
                "RunContainerError",
                "the container was started by an earlier longshore: commands in it can have no terminal",
            )

    def check_target(self, key: str) -> None:
        """Raises CannotStart if an earlier keeper has the target, so that no new container can join it."""
        if self.of(key) is not self.current:
            raise CannotStart(
                "RunContainerError",
                "the target was started by an earlier longshore, and nothing new can be started beside it; "
                "use kubectl exec",
            )

    async def remove(self, keys: Iterable[str]) -> None:
        for link, theirs in self.by_link(keys).items():
            await link.request("remove", theirs)
            if link in self._earlier:
                self._earlier[link].difference_update(theirs)
                self._dismiss_if_done(link)

    async def close(self, *, kill: bool) -> None:
        links = [self.current, *self._earlier]
        if kill:
            await asyncio.gather(*(link.request("stop", None) for link in links))
        if self._leaving:
            await asyncio.wait(self._leaving)
        for link in links:
            await link.close()

    def _link(self, directory: Path) -> Link:
        return Link(directory, self._greeted, self._ended, owned=self._owned)

    def _directories(self) -> list[Path]:
        """Directories of keepers that exist, the first one first."""
        return [directory for directory in itertools.islice(self._names(), 9) if directory.is_dir()]

    def _names(self) -> Iterator[Path]:
        yield self._first
        for number in itertools.count(2):
            yield self._first.with_name(f"{self._first.name}-{number}")

    def _unused(self) -> Path:
        return next(directory for directory in self._names() if not directory.exists())

    def _keep(self, link: Link, hello: Any) -> None:
        """Keeps the link to a keeper that starts nothing new."""
        link.welcome(hello)
        self._earlier[link] = {state[0] for state in hello["states"]}
        running = sum(state[1] == "running" for state in hello["states"])
        if running:
            log.warning(
                "the keeper of an earlier longshore (pid %d) still runs %d %s: they end under it, "
                "and new pods start under a new keeper",
                link.keeper_pid,
                running,
                "container" if running == 1 else "containers",
            )
        self._dismiss_if_done(link)

    def _dismiss_if_done(self, link: Link) -> None:
        if not self._earlier[link]:
            del self._earlier[link]
            task = asyncio.get_running_loop().create_task(self._dismiss(link))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _dismiss(self, link: Link) -> None:
        await link.dismiss()
        await asyncio.to_thread(shutil.rmtree, link.directory, ignore_errors=True)
        log.info("the keeper of an earlier longshore (pid %d) has ended", link.keeper_pid)
