"""The podman engine: containers from real images, through podman's command line.

Podman keeps the books: a container's name is made of its key, so the same key cannot be created twice, and
after a restart of longshore all of them are found by a label. Before one is started a note is written, since
podman would start an ended container again if asked: one that has the note is never started a second time.

An ended container is noticed by the end of its monitor (conmon), a small process outside of longshore that
has written down the exit code by then.
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

from longshore.api.exec_session import Session
from longshore.api.time import rfc3339
from longshore.api.time.doubling import Doubling
from longshore.api.time.instants import SECOND
from longshore.api.types import decode
from longshore.node.runtime import CannotStart, Container, Features, Key, State, Usage
from longshore.node.runtimes import podman_arguments as arguments
from longshore.node.runtimes import podman_image_user, podman_usage
from longshore.node.runtimes.podman_cli import Cli, PodmanMissing, Ran, ulimits
from longshore.node.runtimes.podman_session import EXEC_TAG, PodmanSession

_SETTLING_SECONDS: Final = 0.1
_TRIES: Final = 50
"""How often, and how far apart, podman is asked about a container whose monitor has just ended."""
_PULL_PAUSES: Final = Doubling(10.0, 300.0)
"""Between two attempts to pull an image, as kubelets have it."""
_ASK_SECONDS: Final = 300.0
_NOT_STARTED: Final = ("created", "configured", "initialized")
_RUNS: Final = ("running", "paused", "stopping")

log = logging.getLogger(__name__)


class PodmanRuntime:
    """`directory` holds the notes of what was started; its path tells whose the containers are."""

    name = "podman"

    def __init__(self, directory: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._pulls: dict[str, tuple[float, float, str]] = {}
        """Images that could not be pulled: not before when, after which pause, and why."""
        self._notes = directory
        self._cli = Cli()
        self._machine = arguments.Machine(hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16])
        self._is_asked = False
        self._trouble, self._ask_at = "", 0.0
        self._changed: Callable[[State], None] = lambda _: None
        self._states: dict[Key, State] = {}
        self._ends: dict[Key, asyncio.Future[State]] = {}
        self._watched: dict[Key, int] = {}
        self._limited: set[Key] = set()
        self._killed: set[Key] = set()
        self._starting: dict[Key, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, changed: Callable[[State], None]) -> list[State]:
        """Podman is not asked without a reason: that would take longer than all else at a start."""
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
            if key not in self._states:  # started once, and removed by somebody else
                self._states[key] = State(key, "lost", exit_code=255, reason="Error")
        return list(self._states.values())

    async def _found(self, key: Key) -> None:
        """A container of an earlier longshore."""
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

    async def start(self, container: Container) -> State:
        key = container.key
        async with self._starting.setdefault(key, asyncio.Lock()):
            try:
                known = self._states.get(key)
                return known if known is not None else await self._start(container)
            finally:
                self._starting.pop(key, None)

    async def _start(self, container: Container) -> State:
        key, name = container.key, arguments.name_of(container.key)
        try:
            machine = await self._asked()
        except (PodmanMissing, RuntimeError) as problem:
            raise CannotStart("CreateContainerError", str(problem)) from None
        image = await self._image(container)
        words = arguments.create(
            container, image, machine, await podman_image_user.of(self._cli, container, image)
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
            self._tell_later(state)
        return state

    async def _asked(self) -> arguments.Machine:
        """The settings that containers need on this machine, asked once."""
        if not self._is_asked:
            runtime = await self._cli.oci_runtime()
            self._machine = arguments.Machine(self._machine.owner, runtime, ulimits())
            self._is_asked = True
        return self._machine

    async def _image(self, container: Container) -> str:
        """The image as podman has it here, pulled if it has to be."""
        try:
            full = arguments.reference(container.image)
        except ValueError as bad:
            text = f'couldn\'t parse image name "{container.image}": {bad}'
            raise CannotStart(
                "InvalidImageName", f'Failed to apply default image tag "{container.image}": {text}'
            ) from None
        if container.pull != "Always":
            for name in (container.image, full):
                if (await self._cli.run("image", "exists", name)).code == 0:
                    return name
        if container.pull == "Never":
            raise CannotStart(
                "ErrImageNeverPull",
                f'Container image "{container.image}" is not present with pull policy of Never',
            )
        self._refuse_while_backing_off(container.image, full)
        pulled: Ran = await self._cli.run("pull", "--quiet", full)
        if pulled.code:
            message = f'failed to pull and unpack image "{full}": {pulled.problem}'
            _, pause, _ = self._pulls.get(full, (0.0, 0.0, ""))
            pause = _PULL_PAUSES.following(pause)
            self._pulls[full] = (self._monotonic() + pause, pause, message)
            raise CannotStart("ErrImagePull", message)
        self._pulls.pop(full, None)
        return full

    def _refuse_while_backing_off(self, image: str, full: str) -> None:
        until, _, message = self._pulls.get(full, (0.0, 0.0, ""))
        if self._monotonic() < until:
            text = f'Back-off pulling image "{image}": ErrImagePull: {message}'
            raise CannotStart("ImagePullBackOff", text)

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
            """That of the container, once it has ended."""
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
                used = podman_usage.of_process(state.pid)
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
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # What podman says

    def _note(self, key: Key) -> Path:
        return self._notes / arguments.name_of(key)

    def _write_note(self, key: Key) -> None:
        """Whole or not at all."""
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
        """The state once its status is none of these; None if it stays, or there is no container."""
        for _ in range(_TRIES):
            seen = await self._inspect(key)
            if seen is None or seen["State"]["Status"] not in unlike:
                return seen
            await asyncio.sleep(_SETTLING_SECONDS)
        return None

    def _learn(self, key: Key, seen: dict[str, Any]) -> State:
        state = self._states[key] = self._state(key, seen)
        if state.phase == "running":
            self._ends.setdefault(key, asyncio.get_running_loop().create_future())
            self._watch(key, seen["State"].get("ConmonPid") or state.pid)
        return state

    def _state(self, key: Key, seen: dict[str, Any]) -> State:
        told = seen["State"]
        began = _seconds(told["StartedAt"])
        if told["Status"] in _RUNS:
            return State(key, "running", seen["Id"], told["Pid"], began)
        if told["Status"] in _NOT_STARTED:
            # It was to be started, and the machine went down: whether it ran nobody knows.
            return State(key, "lost", seen["Id"], 0, began, began, 255, reason="Error")
        code = told["ExitCode"]
        number = code - 128 if 128 < code < 193 else 0
        limited = key in self._limited or bool((seen.get("HostConfig") or {}).get("Memory"))
        out_of_memory = told["OOMKilled"] or (code == 137 and limited and key not in self._killed)
        reason = "OOMKilled" if out_of_memory else "Error" if code else "Completed"
        ended = _seconds(told["FinishedAt"])
        return State(
            key, "exited", seen["Id"], 0, began, ended, code, number, reason, told.get("Error") or ""
        )

    def _watch(self, key: Key, pid: int) -> None:
        """Has the container looked at when this process has ended."""
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            self._spawn(self._ended(key))
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
        self._spawn(self._ended(key))

    async def _ended(self, key: Key) -> None:
        seen = await self._settled(key, _RUNS)
        known = self._states.get(key)
        if known is None:
            return
        if seen is None:
            state = State(key, "lost", known.id, 0, known.started_at, known.started_at, 255, reason="Error")
        else:
            state = self._state(key, seen)
        self._states[key] = state
        self._tell(state)

    def _tell_later(self, state: State) -> None:
        """After whoever waits for `start` has its answer."""
        asyncio.get_running_loop().call_soon(self._tell, state)

    def _tell(self, state: State) -> None:
        end = self._ends.setdefault(state.key, asyncio.get_running_loop().create_future())
        if not end.done():
            end.set_result(state)
        self._changed(state)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("podman: a container's end could not be looked at", exc_info=problem)


def _make_files(container: Container) -> None:
    Path(container.log).parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    if container.termination_message is not None:
        message = Path(container.termination_message)
        message.parent.mkdir(parents=True, exist_ok=True)
        message.touch()
        with contextlib.suppress(PermissionError):
            message.chmod(0o666)  # whatever user the container runs as


def _seconds(text: str) -> float:
    """Podman's times have nanoseconds. The year 1 stands for never."""
    return 0.0 if text.startswith("0001-") else rfc3339.parse(text) / SECOND
