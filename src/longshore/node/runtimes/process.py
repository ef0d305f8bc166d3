"""The process runtime: containers are processes of this machine, children of a keeper that outlives
longshore.

It keeps no state of its own: the keeper remembers what ran and how it ended. The image of a container is not
used; its command runs with the host's files, in a mount namespace of its own where it has volumes. See
`node/keeper/` for how.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pwd
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec

from longshore.api.container_streams import Session
from longshore.api.facts.isolation_levels import weaker
from longshore.node.keeper import frames
from longshore.node.runtime import CannotStart, Container, ContainerState, Features, Key, Usage, Walls
from longshore.node.runtimes.process_keepers import Keepers
from longshore.node.runtimes.process_session import ProcessSession

_FROM_HOST = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
)
_TAG = "LONGSHORE_CONTAINER"


class ProcessRuntime:
    """`directory` is the keeper's: socket and journal. `environ` is what containers see of the host's
    environment, of which only the variables that any program needs are taken. With `owned`, no container
    outlives this process. Containers with walls do not see the directories and files `hidden`, which are
    listed anew for each container. `isolation` is the level of pods that ask for none."""

    name = "process"

    def __init__(
        self,
        directory: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        owned: bool = False,
        hidden: Iterable[Path] = (),
        isolation: str = "none",
    ) -> None:
        self._isolation = isolation
        self._hidden = hidden
        self._keepers = Keepers(directory, self._greeted, self._ended, owned=owned)
        self._changed: Callable[[ContainerState], None] = _ignored
        self._remembered: dict[Key, ContainerState] | None = None
        """The states from the keepers' greetings, while the runtime opens. If a keeper dies while it greets,
        the next keeper sends its states."""
        self._running: dict[str, Key] = {}
        self._environ = {
            name: value for name, value in environ.items() if name in _FROM_HOST or name.startswith("LC_")
        }
        self._environ.setdefault("PATH", os.defpath)
        self._homes: dict[int, dict[str, str]] = {}
        self._walls: dict[Walls, frames.Walls] = {}
        """The keeper's form of each container's walls; all with the same `hidden`."""
        self._hidden_now: list[str] = []

    async def open(self, changed: Callable[[ContainerState], None]) -> list[ContainerState]:
        self._changed = changed  # first: a container may end while the keeper's greeting is on its way
        remembered: dict[Key, ContainerState] = {}
        self._remembered = remembered
        try:
            await self._keepers.connect()
        finally:
            self._remembered = None
        return list(remembered.values())

    @property
    def keeper_pid(self) -> int:
        """The pid of the current keeper, for `longshore status`."""
        return self._keepers.current.keeper_pid

    async def features(self) -> Features:
        told = await self._keepers.current.request("features", None)
        notes = list(told["notes"])
        if told["problem"]:
            notes.append(f"Volumes cannot be mounted: {told['problem']}.")
        warning = ""
        problem = told["full_problem"]
        strongest = "none" if told["walls_problem"] else "process" if problem else "full"
        level = weaker(strongest, self._isolation)
        if level != self._isolation:
            start = "Pods are not kept to themselves" if level == "none" else "Pods see each other's files"
            warning = (
                f"{start} (isolation {level}, not {self._isolation}): {problem}; "
                "longshore doctor says what to turn on."
            )
            notes.append(warning)
        return Features(
            mounts=not told["problem"],
            limits=told["limits"],
            notes=tuple(notes),
            strongest=strongest,
            isolation=level,
            isolation_problem=problem if level == strongest else "",
            isolation_warning=warning,
        )

    async def problem(self) -> str:
        link = self._keepers.current
        if link.is_up:
            return ""
        link.revive()
        return f"its keeper has ended and no other could be started; see {link.directory}/keeper.log"

    def start(self, container: Container) -> asyncio.Future[ContainerState]:
        if not container.command and not container.args:
            raise CannotStart(
                "CreateContainerError", "no command specified: processes have no image to take one from"
            )
        key = container.key
        text = str(key)
        if container.target is not None:
            self._keepers.check_target(str(container.target))
        link = self._keepers.of(text)
        asked = link.request("start", self._spec(text, container), partial(self._answered, key, text))
        self._running[text] = key
        return asked

    def _answered(self, key: Key, text: str, granted: bool, told: Any) -> Any:
        """Forgets a container that does not run. A start without an answer may still be reported."""
        state = _state(key, told) if granted else None
        if state is None or state.phase != "running":
            self._running.pop(text, None)
        return told if state is None else state

    async def signal(self, key: Key, number: int) -> None:
        text = str(key)
        await self._keepers.of(text).request("signal", (text, int(number)))

    async def remove(self, keys: Iterable[Key]) -> None:
        await self._keepers.remove([str(key) for key in keys])

    async def exec(self, key: Key, command: tuple[str, ...], *, stdin: bool, tty: bool) -> Session:
        link = self._keepers.of(str(key))
        if tty:
            self._keepers.check_terminal(link)
        session = ProcessSession(link.dial())
        await session.begin_exec(str(key), command, stdin=stdin, tty=tty)
        return session

    async def attach(self, key: Key) -> Session:
        session = ProcessSession(self._keepers.of(str(key)).dial())
        await session.begin_attach(str(key))
        return session

    async def usage(self, keys: Iterable[Key]) -> dict[Key, Usage]:
        by_text = {str(key): key for key in keys}
        found: dict[Key, Usage] = {}
        for link, texts in self._keepers.by_link(by_text).items():
            for text, cpu, memory in await link.request("usage", texts):
                found[by_text[text]] = Usage(cpu, memory)
        return found

    async def close(self, *, kill: bool) -> None:
        await self._keepers.close(kill=kill)

    # Reports of the keeper

    def _greeted(self, states: list[frames.State]) -> None:
        """Takes the states that a keeper remembers, when it connects and again when another one took over."""
        for told in states:
            text = told[0]
            state = _state(self._running.get(text) or _key(text), told)
            if self._remembered is not None:
                self._remembered[state.key] = state
            if state.phase == "running":
                self._running[text] = state.key
            elif text in self._running:
                self._ended(told)

    def _ended(self, told: frames.State) -> None:
        """Reports the end of a container, after `start` has returned."""
        text = told[0]
        key = self._running.pop(text, None)
        asyncio.get_running_loop().call_soon(self._changed, _state(key or _key(text), told))

    # Requests to the keeper

    def _spec(self, text: str, container: Container) -> frames.Spec:
        limits = container.limits
        message = container.termination_message
        spec: frames.Spec = {
            "key": text,
            "argv": [*container.command, *container.args],
            "env": self._env(text, container),
            "cwd": container.working_dir,
            "log": str(container.log),
            "whole_log": container.whole_log,
            "mounts": [(mount.source, mount.target, mount.read_only) for mount in container.mounts],
            "termination": (str(message), container.termination_path) if message is not None else None,
            "hostname": container.hostname,
            "uid": container.user,
            "gid": self._group(container),
            "groups": list(container.groups),
            "read_only_root": container.read_only_root,
            "memory": limits.memory,
            "cpu": limits.cpu_millis,
            "cpu_request": limits.cpu_request_millis,
            "stdin": container.stdin,
            "stdin_once": container.stdin_once,
            "tty": container.tty,
            "target": str(container.target) if container.target is not None else "",
        }
        if container.walls is not None:
            spec["walls"] = self._walls_of(container.walls)
        if container.separate_streams and container.whole_log:
            spec["separate_streams"] = True
        return spec

    def _walls_of(self, walls: Walls) -> frames.Walls:
        hidden = [str(path.absolute()) for path in self._hidden]
        if hidden != self._hidden_now:
            self._walls, self._hidden_now = {}, hidden
        known = self._walls.get(walls)
        if known is None:
            # One has the fields of the other, and the directories.
            told: Any = {**msgspec.structs.asdict(walls), "hidden": hidden}
            known = self._walls[walls] = told
        return known

    def _env(self, text: str, container: Container) -> dict[str, str]:
        env = dict(self._environ)
        if container.user is not None:
            env.update(self._home(container.user))
        if container.hostname:
            env["HOSTNAME"] = container.hostname
        if container.tty:
            env["TERM"] = "xterm"
        if container.path:
            env["PATH"] = ":".join((*container.path, env["PATH"]))
        env.update(container.env)
        env[_TAG] = text
        return env

    def _group(self, container: Container) -> int | None:
        """The wanted group, else the user's own; for a user unknown to the host, the user's number."""
        if container.group is not None or container.user is None or container.user == os.geteuid():
            return container.group
        try:
            return pwd.getpwuid(container.user).pw_gid
        except KeyError:
            return container.user

    def _home(self, uid: int) -> dict[str, str]:
        """The variables of another user, so that a program does not use ours."""
        known = self._homes.get(uid)
        if known is None:
            try:
                user = pwd.getpwuid(uid)
                known = {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
            except KeyError:
                known = {"HOME": "/", "USER": str(uid), "LOGNAME": str(uid)}
            self._homes[uid] = known
        return known


def _state(key: Key, told: frames.State) -> ContainerState:
    text, phase, pid, started, finished, code, number, reason, message = told
    # On the wire a phase is a text; the keeper sends none but those of `ContainerState`.
    return ContainerState(key, phase, _id(text), pid, started, finished, code, number, reason, message)  # type: ignore[arg-type]


def _key(text: str) -> Key:
    uid, container, attempt = text.split("/")
    return Key(uid, container, int(attempt))


@lru_cache(maxsize=1024)
def _id(text: str) -> str:
    """An id like those of other runtimes; a key always has the same."""
    return hashlib.sha256(text.encode()).hexdigest()


def _ignored(state: ContainerState) -> None:
    """The listener before `open` is called: does nothing."""
