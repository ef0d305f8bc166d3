"""The podman runtime: containers from real images, through podman's command line.

Podman keeps the records: a container's name is made of its key, so a key cannot be created twice, and after a
restart of longshore all containers are found by a label. A note is written before each start, because podman
would start an ended container again: a container with a note is never started a second time. The end of a
container is noticed by the end of its monitor (conmon), a small process outside of longshore that has
recorded the exit code by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from longshore.api.container_streams import Session
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import decode
from longshore.machinery.background import Background
from longshore.node.runtime import CannotStart, Container, ContainerState, Features, Key, Mount, Usage
from longshore.node.runtimes import podman_arguments as arguments
from longshore.node.runtimes.podman_cli import Cli, PodmanMissing, ulimits
from longshore.node.runtimes.podman_images import PodmanImages
from longshore.node.runtimes.podman_session import EXEC_TAG, PodmanSession

_SETTLING_SECONDS: Final = 0.1
_MAX_TRIES: Final = 50
"""How often podman is asked about a container whose monitor has just ended."""
_ASK_SECONDS: Final = 300.0
_NOT_STARTED: Final = ("created", "configured", "initialized")
_RUNS: Final = ("running", "paused", "stopping")

log = logging.getLogger(__name__)


class PodmanRuntime:
    """`directory` holds the notes of starts; its path identifies the containers of this longshore."""

    name = "podman"

    def __init__(
        self,
        directory: Path,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        hidden: Iterable[Path] = (),
    ) -> None:
        """Containers do not see the directories and files `hidden`, which are listed anew for each."""
        self._monotonic = monotonic
        self._hidden = hidden
        self._notes = directory
        self._cli = Cli()
        self._images = PodmanImages(self._cli, monotonic)
        self._machine = arguments.Machine(hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16])
        self._is_asked = False
        self._trouble, self._ask_at = "", 0.0
        self._changed: Callable[[ContainerState], None] = lambda _: None
        self._states: dict[Key, ContainerState] = {}
        self._ends: dict[Key, asyncio.Future[ContainerState]] = {}
        self._watched: dict[Key, int] = {}
        self._limited: set[Key] = set()
        self._killed: set[Key] = set()
        self._starting: dict[Key, asyncio.Lock] = {}
        self._background = Background("podman: a container's end could not be looked at")

    async def open(self, changed: Callable[[ContainerState], None]) -> list[ContainerState]:
        """Runs podman only if there are notes, because it takes longer than the rest of a start."""
        self._changed = changed
        self._notes.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not any(self._notes.iterdir()):
            return []
        label = f"label={arguments.OWNER_LABEL}={self._machine.owner}"
        listed = await self._cli.json("ps", "--all", "--filter", label, "--format", "json")
        for entry in listed or ():
            await self._found(arguments.key_of(entry["Labels"][arguments.KEY_LABEL]))
        for note in self._notes.iterdir():
            key = arguments.key_of(note.read_text())
            if key not in self._states:  # another program has removed the started container
                self._states[key] = ContainerState(key, "lost", exit_code=255, reason="Error")
        return list(self._states.values())

    async def _found(self, key: Key) -> None:
        """Takes over a container of an earlier longshore."""
        seen = await self._inspect(key)
        if seen is None:
            return
        if seen["State"]["Status"] in _NOT_STARTED:
            if not self._note(key).exists():
                await self._cli.run("rm", "--force", arguments.name_of(key))
                return
            seen = await self._settled(key, _NOT_STARTED) or seen
        self._learn(key, seen)

    async def features(self) -> Features:
        notes = [f"the OCI runtime is {self._machine.runtime}"] if self._machine.runtime else []
        notes.append("a log that grows beyond 50 MB starts over")
        return Features(mounts=True, limits="podman", notes=tuple(notes))

    async def problem(self) -> str:
        """Podman is asked again every five minutes as long as it answers."""
        if self._trouble or self._monotonic() >= self._ask_at:
            try:
                await self._cli.json("info", "--format", "json")
                self._trouble = ""
            except PodmanMissing as missing:
                self._trouble = str(missing)
            except RuntimeError as problem:
                self._trouble = f"podman does not work here: {problem}"
            self._ask_at = self._monotonic() + _ASK_SECONDS
        return self._trouble

    async def start(self, container: Container) -> ContainerState:
        key = container.key
        async with self._starting.setdefault(key, asyncio.Lock()):
            try:
                known = self._states.get(key)
                return known if known is not None else await self._start(container)
            finally:
                self._starting.pop(key, None)

    async def _start(self, container: Container) -> ContainerState:
        key, name = container.key, arguments.name_of(container.key)
        try:
            machine = await self._asked()
        except (PodmanMissing, RuntimeError) as problem:
            raise CannotStart("CreateContainerError", str(problem)) from None
        image = await self._images.present(container)
        words = arguments.create(
            container,
            image,
            machine,
            await self._images.user(container, image),
            self._masks(container),
        )
        _make_files(container)
        made = await self._cli.run(*words)
        if made.code and "already in use" in made.err:  # made by an earlier longshore, and never started
            await self._cli.run("rm", "--force", name)
            made = await self._cli.run(*words)
        if made.code:
            raise CannotStart("CreateContainerError", made.problem)
        self._write_note(key)
        started = await self._cli.run("start", name)
        seen = await self._inspect(key)
        if seen is None or (started.code and seen["State"]["Status"] in _NOT_STARTED):
            await self._cli.run("rm", "--force", name)
            self._note(key).unlink(missing_ok=True)
            raise CannotStart("RunContainerError", started.problem)
        if container.limits.memory is not None:
            self._limited.add(key)
        state = self._learn(key, seen)
        if state.phase != "running":
            asyncio.get_running_loop().call_soon(self._tell, state)  # after `start` has returned
        return state

    def _masks(self, container: Container) -> list[arguments.Mask]:
        if not container.mounts:
            return []
        real = [
            Mount(os.path.realpath(mount.source), mount.target, mount.read_only) for mount in container.mounts
        ]
        secrets = [(os.path.realpath(path), os.path.isdir(path)) for path in self._hidden]
        return arguments.masks(real, secrets)

    async def _asked(self) -> arguments.Machine:
        """The settings that containers need on this machine, asked once."""
        if not self._is_asked:
            runtime = await self._cli.oci_runtime()
            self._machine = arguments.Machine(self._machine.owner, runtime, ulimits())
            self._is_asked = True
        return self._machine

    async def signal(self, key: Key, number: int) -> None:
        if number == 9:
            self._killed.add(key)
        if (state := self._states.get(key)) is not None and state.phase == "running":
            await self._cli.run("kill", "--signal", str(number), arguments.name_of(key))

    async def remove(self, keys: Iterable[Key]) -> None:
        gone = [key for key in keys if (s := self._states.get(key)) is None or s.phase != "running"]
        if not gone:
            return
        await self._cli.run(
            "rm", "--force", "--volumes", "--ignore", *(arguments.name_of(key) for key in gone)
        )
        for key in gone:
            self._note(key).unlink(missing_ok=True)
            self._states.pop(key, None)
            self._ends.pop(key, None)
            self._limited.discard(key)
            self._killed.discard(key)

    async def exec(self, key: Key, command: tuple[str, ...], *, stdin: bool, tty: bool) -> Session:
        tag = uuid.uuid4().hex
        words = ["podman", "exec", "--env", f"{EXEC_TAG}={tag}"]
        words += ["--interactive"] * stdin + ["--tty"] * tty
        session = PodmanSession(tag=tag)
        await session.start([*words, arguments.name_of(key), *command], stdin=stdin, tty=tty)
        return session

    async def attach(self, key: Key) -> Session:
        seen = await self._inspect(key)
        if seen is None or not seen["State"]["Running"]:
            raise CannotStart("RunContainerError", "the container does not run")
        stdin, tty = bool(seen["Config"].get("OpenStdin")), bool(seen["Config"].get("Tty"))
        words = ["podman", "attach", "--sig-proxy=false", *(["--no-stdin"] * (not stdin))]

        async def exit_code() -> int:
            """The exit code of the container, once it has ended."""
            end = self._ends.get(key)
            return (await asyncio.shield(end)).exit_code if end is not None else 0

        session = PodmanSession(exit_code)
        await session.start([*words, arguments.name_of(key)], stdin=stdin, tty=tty)
        return session

    async def usage(self, keys: Iterable[Key]) -> dict[Key, Usage]:
        found = {}
        for key in keys:
            state = self._states.get(key)
            if state is not None and state.phase == "running":
                used = _usage_of(state.pid)
                if used is not None:
                    found[key] = used
        return found

    async def close(self, *, kill: bool) -> None:
        if kill:
            running = [key for key, state in self._states.items() if state.phase == "running"]
            for key in running:
                await self.signal(key, 9)
            ends = [self._ends[key] for key in running if key in self._ends]
            if ends:
                await asyncio.wait(ends, timeout=10)
        for key in list(self._watched):
            self._unwatch(key)
        await asyncio.gather(*self._background.cancel(), return_exceptions=True)

    # What podman says

    def _note(self, key: Key) -> Path:
        return self._notes / arguments.name_of(key)

    def _write_note(self, key: Key) -> None:
        """Writes the note of a start, whole or not at all."""
        fresh = self._notes.with_name(self._notes.name + ".new")
        fresh.write_text(str(key))
        fresh.rename(self._note(key))

    async def _inspect(self, key: Key) -> dict[str, Any] | None:
        ran = await self._cli.run("container", "inspect", arguments.name_of(key))
        if ran.code:
            return None
        found: dict[str, Any] = decode(ran.out)[0]
        return found

    async def _settled(self, key: Key, unlike: tuple[str, ...]) -> dict[str, Any] | None:
        """The inspected container once its status is none of `unlike`; None if it stays, or is gone."""
        for _ in range(_MAX_TRIES):
            seen = await self._inspect(key)
            if seen is None or seen["State"]["Status"] not in unlike:
                return seen
            await asyncio.sleep(_SETTLING_SECONDS)
        return None

    def _learn(self, key: Key, seen: dict[str, Any]) -> ContainerState:
        state = self._states[key] = self._state(key, seen)
        if state.phase == "running":
            self._ends.setdefault(key, asyncio.get_running_loop().create_future())
            self._watch(key, seen["State"].get("ConmonPid") or state.pid)
        return state

    def _state(self, key: Key, seen: dict[str, Any]) -> ContainerState:
        told = seen["State"]
        began = _seconds(told["StartedAt"])
        if told["Status"] in _RUNS:
            return ContainerState(key, "running", seen["Id"], told["Pid"], began)
        if told["Status"] in _NOT_STARTED:
            # It was to be started, and the machine went down: whether it ran is unknown.
            return ContainerState(key, "lost", seen["Id"], 0, began, began, 255, reason="Error")
        code = told["ExitCode"]
        number = code - 128 if 128 < code < 193 else 0
        limited = key in self._limited or bool((seen.get("HostConfig") or {}).get("Memory"))
        out_of_memory = told["OOMKilled"] or (code == 137 and limited and key not in self._killed)
        reason = "OOMKilled" if out_of_memory else "Error" if code else "Completed"
        ended = _seconds(told["FinishedAt"])
        return ContainerState(
            key, "exited", seen["Id"], 0, began, ended, code, number, reason, told.get("Error") or ""
        )

    def _watch(self, key: Key, pid: int) -> None:
        """Has the container inspected when this process has ended."""
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            self._background.spawn(self._ended(key))
            return
        self._watched[key] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._monitor_gone, key)

    def _unwatch(self, key: Key) -> None:
        descriptor = self._watched.pop(key, None)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)

    def _monitor_gone(self, key: Key) -> None:
        self._unwatch(key)
        self._background.spawn(self._ended(key))

    async def _ended(self, key: Key) -> None:
        seen = await self._settled(key, _RUNS)
        known = self._states.get(key)
        if known is None:
            return
        if seen is None:
            state = ContainerState(
                key, "lost", known.id, 0, known.started_at, known.started_at, 255, reason="Error"
            )
        else:
            state = self._state(key, seen)
        self._states[key] = state
        self._tell(state)

    def _tell(self, state: ContainerState) -> None:
        end = self._ends.setdefault(state.key, asyncio.get_running_loop().create_future())
        if not end.done():
            end.set_result(state)
        self._changed(state)


def _make_files(container: Container) -> None:
    Path(container.log).parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    if container.termination_message is not None:
        message = Path(container.termination_message)
        message.parent.mkdir(parents=True, exist_ok=True)
        message.touch()
        with contextlib.suppress(PermissionError):
            message.chmod(0o666)  # whatever user the container runs as


def _seconds(text: str) -> float:
    """A time of podman in seconds since 1970. The year 1 stands for never: 0."""
    return 0.0 if text.startswith("0001-") else rfc3339.parse(text) / SECOND


_GROUPS: Final = Path("/sys/fs/cgroup")


def _usage_of(pid: int) -> Usage | None:
    """The usage by cgroup; None if the process has ended, or its cgroup does not count."""
    try:
        lines = Path("/proc", str(pid), "cgroup").read_text().splitlines()
    except OSError:
        return None
    where = {names: path.lstrip("/") for _, names, path in (line.split(":", 2) for line in lines)}
    with contextlib.suppress(OSError, KeyError, ValueError):
        by_name = {name: path for names, path in where.items() for name in names.split(",")}
        if "cpuacct" in by_name:
            cpu = _GROUPS / "cpuacct" / by_name["cpuacct"] / "cpuacct.usage"
            memory = _GROUPS / "memory" / by_name["memory"]
            used = int((memory / "memory.usage_in_bytes").read_text())
            idle = _fields(memory / "memory.stat").get("total_inactive_file", 0)
            return Usage(int(cpu.read_text()) / 1e9, max(used - idle, 0))
        group = _GROUPS / by_name[""]
        used = int((group / "memory.current").read_text())
        idle = _fields(group / "memory.stat").get("inactive_file", 0)
        return Usage(_fields(group / "cpu.stat")["usage_usec"] / 1e6, max(used - idle, 0))
    return None


def _fields(file: Path) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in file.read_text().splitlines())}
