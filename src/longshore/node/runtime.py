"""The protocol of a runtime, which runs containers.

A container runs once: `Key` names one attempt of one container of one pod, and a runtime starts a key at most
once, even if longshore is killed in between and asks again. A runtime remembers each container and its exit
code until `remove`. Restarting a container means a new key with the next attempt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from os import PathLike
from typing import Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from longshore.api.container_streams import Session
from longshore.machinery.reasons import Reason

FilePath: TypeAlias = str | PathLike[str]
"""Mostly text: a `Path` takes 4 µs to make, and a container has several."""


class Key(NamedTuple):
    """One run of one container. The text form `uid/name/attempt` is the tag of its processes."""

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


class Walls(msgspec.Struct, frozen=True):
    """The isolation of a container of the process runtime; see docs/reference/security.md."""

    level: Literal["process", "full"]
    capabilities: int
    """The capabilities that a container of root may have, a bit each."""
    no_new_privileges: bool = True
    filtered: bool = True
    """Whether some system calls are refused."""
    privileged: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    share_pid: bool = False
    """Whether it shares a PID namespace with the other containers of its pod."""
    siblings: bool = False
    """Whether its pod has other containers, with which it shares IPC and shared memory."""
    no_network: bool = False
    """Whether it has a loopback interface only."""


class Rights(msgspec.Struct, frozen=True):
    """The rights that a securityContext asks for, for a runtime with isolation of its own (podman)."""

    privileged: bool = False
    add: tuple[str, ...] = ()
    """Capabilities beside the runtime's usual ones, as the manifest names them."""
    drop: tuple[str, ...] = ()
    """Usual capabilities that the container does not get."""
    no_new_privileges: bool = False
    filtered: bool = True
    """Whether some system calls are refused."""
    non_root: bool = False
    """Whether it must not run as root, whatever its image says."""


class Container(msgspec.Struct, frozen=True):
    """Everything a runtime needs to start one container once; all references are resolved."""

    key: Key
    namespace: str
    pod: str
    image: str
    pull: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """When the image is pulled; the process runtime uses no images."""
    command: tuple[str, ...] = ()
    """The manifest's `command`, expanded, or what its image means to the process runtime."""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """In order, names unique. The process runtime adds what a program needs of the host (PATH, HOME, …)."""
    working_dir: str = ""
    mounts: tuple[Mount, ...] = ()
    hostname: str = ""
    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] = ()
    limits: Limits = Limits()
    read_only_root: bool = False
    log: FilePath = ""
    """The log file, with lines `TIME stdout|stderr F|P TEXT`. The runtime makes it and its directory at the
    first output, so no file means no output, and rotates it to `.1`, `.2` and so on."""
    whole_log: bool = False
    """Whether the whole log is kept while the container runs, whatever its size."""
    separate_streams: bool = False
    """Whether lines of standard error are logged as `stderr`; the order of the lines of both streams may then
    differ a little. Only with `whole_log`."""
    termination_message: FilePath | None = None
    """A file of this machine, mounted at `termination_path`; the runtime makes it if needed."""
    termination_path: str = "/dev/termination-log"
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    path: tuple[str, ...] = ()
    """Directories that come first in PATH, unless `env` has a PATH. Podman's images have their own."""
    target: Key | None = None
    """A running container whose processes it sees. With the process runtime it also shares that container's
    files and host name, unless it has mounts of its own."""
    walls: Walls | None = None
    """None for a container of the process runtime without isolation, and for podman, which has its own."""
    rights: Rights = Rights()
    """For podman; the process runtime has those of `walls`."""


class ContainerState(msgspec.Struct, frozen=True):
    """The state of a container. Times are seconds since 1970, to the microsecond."""

    key: Key
    phase: Literal["running", "exited", "lost"]
    """`lost`: it may have run, but its exit code is unknown, as after a crash of the machine."""
    id: str = ""
    """The runtime's own id of the container, without `process://`."""
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
    """Whether it runs and is not ready yet; the runtime reports the state again when it is. A runtime without
    readiness leaves it to probes."""


class CannotStart(Exception):
    """The container was not started, and trying again may or may not help.

    `reason` is the reason of the container's `waiting` state: RunContainerError (a command that is missing),
    CreateContainerConfigError (a manifest this runtime cannot follow here), CreateContainerError,
    ErrImagePull, ImagePullBackOff, ErrImageNeverPull, InvalidImageName.

    With `why` the pod gets the Events of these reasons in place of the usual one, and with `after` the next
    try is in so many seconds."""

    def __init__(self, reason: str, message: str, *, why: Sequence[Reason] = (), after: float = 0.0) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.why = why
        self.after = after

    @property
    def for_good(self) -> bool:
        """Whether the command itself cannot be executed: it is not there, or is no program."""
        return self.reason == "RunContainerError" and self.message.startswith(("exec: ", "exec /"))


class Usage(msgspec.Struct, frozen=True):
    """The current usage of a container."""

    cpu_seconds: float
    """CPU seconds since the container's start, of all its processes."""
    memory: int


class Features(msgspec.Struct, frozen=True):
    """The abilities of a runtime on this machine, for the node's events and `longshore status`."""

    mounts: bool
    """Whether volumes can be mounted where the manifest says."""
    limits: str
    """How limits are enforced: `cgroup v2`, `rlimits and sampling`, `podman`."""
    notes: tuple[str, ...] = ()
    """The missing abilities and their reasons, a sentence each."""
    strongest: str = "none"
    """The strongest level of isolation that containers can have."""
    isolation: str = ""
    """The level of containers that ask for none; empty where a runtime has its own."""
    isolation_problem: str = ""
    """Why containers cannot have more than `isolation`; empty if they can, or the runtime has its own."""
    isolation_warning: str = ""
    """A sentence if the wanted level is not in force, else empty."""


class Runtime(Protocol):
    """Starts, signals and remembers containers."""

    name: str
    """The part of container ids before `://`: `process`, `podman`."""

    async def open(self, changed: Callable[[ContainerState], None]) -> list[ContainerState]:
        """Connects, or starts what it needs; returns the states of all containers it remembers, ended ones
        too. From then on `changed` is called on the event loop for each container that ends, once a crash
        cannot lose the end any more, and for each that becomes ready."""

    async def features(self) -> Features: ...

    async def problem(self) -> str:
        """Why it cannot run anything now, in a sentence; empty when it can. Called every few seconds."""

    def start(self, container: Container) -> Awaitable[ContainerState]:
        """Starts the container, unless its key was started before, and returns its state. Raises CannotStart;
        the key may then be tried again. `changed` reports an end only after `start` has returned. A runtime
        that returns a future instead of a coroutine saves its caller a task."""

    async def signal(self, key: Key, number: int) -> None:
        """Signals the whole process group, and with SIGKILL every process that descends from it. Does nothing
        if the container has ended."""

    async def remove(self, keys: Iterable[Key]) -> None:
        """Forgets ended containers. Their logs stay; the caller removes them."""

    async def exec(self, key: Key, command: tuple[str, ...], *, stdin: bool, tty: bool) -> Session:
        """Runs a command in the container: with its mounts, environment, user and working directory."""

    async def attach(self, key: Key) -> Session:
        """Connects to the streams of the container itself, from now on."""

    async def usage(self, keys: Iterable[Key]) -> dict[Key, Usage]:
        """The usage of the running ones among these containers."""

    async def close(self, *, kill: bool) -> None:
        """Disconnects. With `kill` it first kills running containers; otherwise the next `open` finds
        them."""
