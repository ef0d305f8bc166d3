"""The contract of an engine that runs containers, in words that hold for each of them.

A container runs once: `Key` names one attempt of one container of one pod, and an engine starts a key at
most once, even if longshore is killed in between and asks again. What ran is remembered, with its exit code,
until it is removed. Restarting a container means a new key with the next attempt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from os import PathLike
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from longshore.api.exec_session import Session

FilePath: TypeAlias = str | PathLike[str]
"""Mostly text: a `Path` takes 4 µs to make, and a container has several."""


class Key(NamedTuple):
    """One run of one container. The text form `uid/name/attempt` is what children are tagged with."""

    pod_uid: str
    container: str
    attempt: int

    def __str__(self) -> str:
        return f"{self.pod_uid}/{self.container}/{self.attempt}"


class Mount(msgspec.Struct, frozen=True):
    """A file or directory of this machine that the container sees at `target`."""

    source: str
    target: str
    read_only: bool = False


class Limits(msgspec.Struct, frozen=True):
    """The limits of a container. None means no limit."""

    cpu_millis: int | None = None
    cpu_request_millis: int | None = None
    memory: int | None = None
    """Bytes. Crossing it kills the container, which is then OOMKilled."""


LEVELS: Final = ("none", "process", "full")
"""The levels of isolation, the weakest first."""


def weaker(one: str, other: str) -> str:
    """The one of two levels that has fewer walls."""
    return min(one, other, key=LEVELS.index)


class Walls(msgspec.Struct, frozen=True):
    """The walls that keep a container of the process engine to itself; see docs/reference/security.md."""

    level: Literal["process", "full"]
    capabilities: int
    """A bit each; those that a container of root may have."""
    no_new_privileges: bool = True
    filtered: bool = True
    """Whether some system calls are refused."""
    privileged: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    share_pid: bool = False
    """With the other containers of its pod."""
    siblings: bool = False
    """Whether its pod has other containers, with which it shares IPC and shared memory."""
    no_network: bool = False
    """Loopback alone."""


class Rights(msgspec.Struct, frozen=True):
    """The rights that a container's securityContext asks an engine for that has walls of its own."""

    privileged: bool = False
    add: tuple[str, ...] = ()
    """Capabilities beside the engine's usual ones, as the manifest names them,"""
    drop: tuple[str, ...] = ()
    """and those of the usual ones that it is not to have."""
    no_new_privileges: bool = False
    filtered: bool = True
    """Whether some system calls are refused."""
    non_root: bool = False
    """Whether it must not run as root, whatever its image says."""


class Container(msgspec.Struct, frozen=True):
    """Everything an engine needs to start one container once; all references are resolved."""

    key: Key
    namespace: str
    pod: str
    image: str
    pull: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """When the image is fetched; the process engine has no use for images."""
    command: tuple[str, ...] = ()
    """The manifest's `command`, expanded, or what its image means to the process engine."""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """In order, names unique. The process engine adds what a program needs of the host (PATH, HOME, …)."""
    working_dir: str = ""
    mounts: tuple[Mount, ...] = ()
    hostname: str = ""
    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] = ()
    limits: Limits = Limits()
    read_only_root: bool = False
    log: FilePath = ""
    """Where its output goes, as lines `TIME stdout|stderr F|P TEXT`; the engine rotates it to `.1`, `.2` …
    and makes it (and its directory) at the first output: no file means no output."""
    whole_log: bool = False
    """Nothing of the log may be dropped while the container runs, however long it gets."""
    separate_streams: bool = False
    """Lines of standard error are told from those of standard output; their order may differ a little then.
    Only for a log that is wanted whole."""
    termination_message: FilePath | None = None
    """A file of this machine, seen at `termination_path` inside; made by the engine if it has to be."""
    termination_path: str = "/dev/termination-log"
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    path: tuple[str, ...] = ()
    """Directories that come first in PATH, unless `env` has a PATH. Podman's images have their own."""
    target: Key | None = None
    """A running container whose surroundings it shares: its processes, and with the process engine also its
    files and host name where it has no mounts of its own."""
    walls: Walls | None = None
    """None with the process engine: a process of this machine like any other. podman has its own."""
    rights: Rights = Rights()
    """For podman; the process engine has those of `walls`."""


class State(msgspec.Struct, frozen=True):
    """The state of a container. Times are seconds since 1970, to the microsecond."""

    key: Key
    phase: Literal["running", "exited", "lost"]
    """`lost`: it was to be started or did run, but nobody knows its exit code (the machine went down)."""
    id: str = ""
    """The engine's own name for it, without the `process://` in front."""
    pid: int = 0
    started_at: float = 0.0
    finished_at: float = 0.0
    exit_code: int = 0
    """The exit code as a shell counts it: 128 + N after signal N."""
    signal: int = 0
    reason: str = ""
    """Completed, Error, OOMKilled, ContainerCannotRun …; empty while it runs."""
    message: str = ""
    unready: bool = False
    """Whether it runs and the engine will tell when it is ready, by telling this state again without it. An
    engine that knows nothing of readiness leaves that to probes."""


class CannotStart(Exception):
    """The container was not started, and trying again may or may not help.

    `reason` is what the container waits with: RunContainerError (a command that is not there),
    CreateContainerConfigError (a manifest this engine cannot follow here), CreateContainerError,
    ErrImagePull, ImagePullBackOff, ErrImageNeverPull, InvalidImageName.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Usage(msgspec.Struct, frozen=True):
    """The current usage of a container."""

    cpu_seconds: float
    """Since it started, children included."""
    memory: int


class Features(msgspec.Struct, frozen=True):
    """The abilities of an engine on this machine, for the node's events and `longshore status`."""

    mounts: bool
    """Whether volumes can be mounted where the manifest says."""
    limits: str
    """How limits are kept: `cgroup v2`, `rlimits and sampling`, `podman`."""
    notes: tuple[str, ...] = ()
    """The missing abilities and their reasons, a sentence each."""
    strongest: str = "none"
    """The most that containers can be kept to themselves: a level of isolation."""
    isolation: str = ""
    """The level of containers that ask for none; empty where an engine has its own."""
    isolation_problem: str = ""
    """Why containers cannot have more than `isolation`; empty where they can, or where an engine has its
    own."""
    isolation_warning: str = ""
    """A sentence where the level that was wanted is not in force."""


class Runtime(Protocol):
    """An engine."""

    name: str
    """Stands before `://` in container ids: `process`, `podman`."""

    async def open(self, changed: Callable[[State], None]) -> list[State]:
        """Connects, or starts what it needs; returns all it remembers. From then on every container that
        ends is told to `changed`, on the event loop, after it has been recorded where a crash cannot lose
        it; so is one that was `unready` and no longer is. One that ended while nobody was connected is in
        the list."""

    async def features(self) -> Features: ...

    async def problem(self) -> str:
        """Why it cannot run anything now, in a sentence; empty when it can. Asked every few seconds."""

    def start(self, container: Container) -> Awaitable[State]:
        """Starts it, unless its key was started before: then what became of it. Raises CannotStart, after
        which the key may be tried again. An end that comes right after is told after the answer. An engine
        that gives a future instead of a coroutine spares its caller a task."""

    async def signal(self, key: Key, number: int) -> None:
        """To the whole process group; with SIGKILL to every process that descends from it. Nothing if it
        has ended."""

    async def remove(self, keys: Iterable[Key]) -> None:
        """Forgets ended containers. Logs stay; whoever gave the path removes them."""

    async def exec(self, key: Key, command: tuple[str, ...], *, stdin: bool, tty: bool) -> Session:
        """Runs a command where the container runs: its mounts, environment, user, working directory."""

    async def attach(self, key: Key) -> Session:
        """The streams of the container itself, from now on."""

    async def usage(self, keys: Iterable[Key]) -> dict[Key, Usage]:
        """Of those that run."""

    async def close(self, *, kill: bool) -> None:
        """Disconnects. With `kill` everything still running is killed first; without, it goes on, and the
        next `open` finds it."""
