"""The process engine: containers are processes of this machine, children of a keeper that outlives longshore.

It keeps no state of its own: what ran and how it ended is the keeper's to remember. The image of a container
is not used; its command runs with the host's files, in a mount namespace of its own where it has volumes. See
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

from longshore.api.exec_session import Session
from longshore.node.keeper.talking import frames
from longshore.node.runtime import CannotStart, Container, Features, Key, State, Usage, Walls, weaker
from longshore.node.runtimes.process_link import Link
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
    outlives this process. Containers of level `full` do not see the directories `hidden`. `isolation` is the
    level of pods that ask for none."""

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
        self._hidden = [str(path.absolute()) for path in hidden]
        self._link = Link(directory, self._greeted, self._ended, owned=owned)
        self._changed: Callable[[State], None] = _nobody
        self._remembered: list[State] = []
        self._running: dict[str, Key] = {}
        self._environ = {
            name: value for name, value in environ.items() if name in _FROM_HOST or name.startswith("LC_")
        }
        self._environ.setdefault("PATH", os.defpath)
        self._homes: dict[int, dict[str, str]] = {}
        self._walls: dict[Walls, frames.Walls] = {}

    async def open(self, changed: Callable[[State], None]) -> list[State]:
        self._changed = changed  # first: a container may end while the keeper's greeting is on its way
        await self._link.connect()
        return self._remembered

    @property
    def keeper_pid(self) -> int:
        """For `longshore status`."""
        return self._link.keeper_pid

    async def features(self) -> Features:
        told = await self._link.request("features", None)
        notes = list(told["notes"])
        if told["problem"]:
            notes.append(f"Volumes cannot be mounted: {told['problem']}.")
        warning = ""
        # A keeper that an older longshore started does not tell the problem of level full.
        problem = told.get("full_problem", told["walls_problem"])
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
        if self._link.is_up:
            return ""
        self._link.revive()
        return f"its keeper has ended and no other could be started; see {self._link.directory}/keeper.log"

    def start(self, container: Container) -> asyncio.Future[State]:
        if not container.command and not container.args:
            raise CannotStart(
                "CreateContainerError", "no command specified: processes have no image to take one from"
            )
        key = container.key
        text = str(key)
        self._running[text] = key
        return self._link.request("start", self._spec(text, container), partial(self._answered, key, text))

    def _answered(self, key: Key, text: str, granted: bool, told: Any) -> Any:
        """Forgets what does not run. Of a start that had no answer a keeper may yet tell."""
        state = _state(key, told) if granted else None
        if state is None or state.phase != "running":
            self._running.pop(text, None)
        return told if state is None else state

    async def signal(self, key: Key, number: int) -> None:
        await self._link.request("signal", (str(key), int(number)))

    async def remove(self, keys: Iterable[Key]) -> None:
        await self._link.request("remove", [str(key) for key in keys])

    async def exec(self, key: Key, command: tuple[str, ...], *, stdin: bool, tty: bool) -> Session:
        session = ProcessSession(self._link.dial())
        await session.begin_exec(str(key), command, stdin=stdin, tty=tty)
        return session

    async def attach(self, key: Key) -> Session:
        session = ProcessSession(self._link.dial())
        await session.begin_attach(str(key))
        return session

    async def usage(self, keys: Iterable[Key]) -> dict[Key, Usage]:
        by_text = {str(key): key for key in keys}
        used = await self._link.request("usage", list(by_text))
        return {by_text[text]: Usage(cpu, memory) for text, cpu, memory in used}

    async def close(self, *, kill: bool) -> None:
        if kill:
            await self._link.request("stop", None)
        await self._link.close()

    # What the keeper tells

    def _greeted(self, states: list[frames.State]) -> None:
        """All that a keeper remembers: at the beginning, and again after another one took over."""
        self._remembered = []
        for told in states:
            text = told[0]
            state = _state(self._running.get(text) or _key(text), told)
            self._remembered.append(state)
            if state.phase == "running":
                self._running[text] = state.key
            elif text in self._running:
                self._ended(told)

    def _ended(self, told: frames.State) -> None:
        """Said after whoever waits for `start` has its answer, which came before."""
        text = told[0]
        key = self._running.pop(text, None)
        asyncio.get_running_loop().call_soon(self._changed, _state(key or _key(text), told))

    # What it is asked

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
        known = self._walls.get(walls)
        if known is None:
            # One has the fields of the other, and the directories.
            told: Any = {**msgspec.structs.asdict(walls), "hidden": self._hidden}
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
        """A user's own group unless another is asked for. One that the host does not know has its number."""
        if container.group is not None or container.user is None or container.user == os.geteuid():
            return container.group
        try:
            return pwd.getpwuid(container.user).pw_gid
        except KeyError:
            return container.user

    def _home(self, uid: int) -> dict[str, str]:
        """Another user's, so that a program does not look into ours."""
        known = self._homes.get(uid)
        if known is None:
            try:
                user = pwd.getpwuid(uid)
                known = {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
            except KeyError:
                known = {"HOME": "/", "USER": str(uid), "LOGNAME": str(uid)}
            self._homes[uid] = known
        return known


def _state(key: Key, told: frames.State) -> State:
    text, phase, pid, started, finished, code, number, reason, message = told
    # On the wire a phase is a text; the keeper sends none but those of `State`.
    return State(key, phase, _id(text), pid, started, finished, code, number, reason, message)  # type: ignore[arg-type]


def _key(text: str) -> Key:
    uid, container, attempt = text.split("/")
    return Key(uid, container, int(attempt))


@lru_cache(maxsize=1024)
def _id(text: str) -> str:
    """Looks as ids of containers do, and is the same for a key for ever."""
    return hashlib.sha256(text.encode()).hexdigest()


def _nobody(state: State) -> None:
    """Nobody listens before `open` is called."""
