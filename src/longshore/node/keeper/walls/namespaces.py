"""Namespaces of a container: the mounts that its manifest names, its host name, and its walls.

The keeper has one thread, so it may enter a namespace, start the container there and come back; nothing is
forked for it. Where a container has mounts and no walls, kept_mounts.py knows the namespace.

A container with walls lives in a PID namespace of its own (pid_namespace.py). The keeper enters that too, but
returns to its own mounts and host name only: its later children stay in foreign PID and IPC namespaces,
because an ordinary user may not leave those. Processes of the keeper's original namespaces are then forked by
the fork server.

Root may do this anywhere. Another user may in a user namespace, where the system lets users have one: the
keeper then lives in one from its start (permissions.py), and all containers with it.
"""

from __future__ import annotations

import functools
import operator
import os
import time

from longshore.node.keeper import linux
from longshore.node.keeper.container_records import ContainerRecord
from longshore.node.keeper.frames import Refused
from longshore.node.keeper.termination_files import Messages
from longshore.node.keeper.walls import file_tree, permissions, pod_namespaces, system_mounts
from longshore.node.keeper.walls.ipc_namespace import IpcNamespace
from longshore.node.keeper.walls.kept_mounts import KeptMounts, key_of, walls_key
from longshore.node.keeper.walls.masking import Secrets
from longshore.node.keeper.walls.pid_namespace import PidNamespace, PidNamespaces
from longshore.node.keeper.walls.pod_namespaces import PodNamespaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.frames import Spec, Walls
    from longshore.node.keeper.walls.fork_server import ForkServer

_KINDS = {
    "mnt": linux.NEWNS,
    "uts": linux.NEWUTS,
    "ipc": linux.NEWIPC,
    "pid": linux.NEWPID,
    "net": linux.NEWNET,
}
_FILES = {kind: name for name, kind in _KINDS.items()} | {linux.NEWPID: "pid_for_children"}
_TMP = "/tmp"
_NO_WALLS = "containers can have no walls on this system"
_MACHINE = os.uname().nodename
_KEPT_SECONDS = 30.0  # a mount namespace holds its volumes, so it is not kept long for the next container


class Namespaces:
    """`fork_server` is None where containers can have no walls."""

    def __init__(self, directory: str, problem: str, fork_server: ForkServer | None) -> None:
        self.problem = problem
        """Why namespaces cannot be used, or ""."""
        self.messages = Messages(directory)
        self.fork_server = fork_server
        self.pid_namespaces = (
            PidNamespaces(os.path.join(directory, "tmp"), fork_server) if fork_server is not None else None
        )
        self._lock = os.path.join(directory, "lock")
        self._pauses: set[int] = set()
        """Children that hold namespaces of pods."""
        if self.pid_namespaces is not None:
            problem = self.pid_namespaces.problem() or permissions.terminals_problem()
        self.walls_problem = problem
        """Why containers can have no walls, or ""."""
        self.full_problem = self.walls_problem or permissions.full_problem()
        """Why containers can have no walls of level full, or ""."""
        self._stage = os.path.join(
            os.path.realpath(directory), "stage"
        )  # it is looked for in a new root, too
        os.makedirs(self._stage, mode=0o700, exist_ok=True)
        self._links = {name: os.readlink(f"/proc/self/ns/{name}") for name in _KINDS}
        """The namespaces in which the keeper started (home), where the fork server is."""
        self._here = os.open("/proc/self/ns", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        """The namespaces the keeper is in, at any time: a container's /proc does not know the keeper."""
        self._own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        self._own_uts = os.open("/proc/self/ns/uts", os.O_RDONLY | os.O_CLOEXEC)
        self._mounts = KeptMounts(self._stage, self.messages)
        self._kinds: list[int] = []
        """The namespaces, other than home's, that the next process is to live in."""
        self._network = -1
        """The network namespace of the next process, or -1 for home's. The keeper never enters one: an
        ordinary user could not come back."""
        self._moved = False
        """Whether what the keeper spawns is in a PID and an IPC namespace other than home's, for good."""

    @property
    def own_processes(self) -> set[int]:
        """Children of the keeper that belong to no container: the fork server, the first processes of PID
        namespaces, the pause processes of pods."""
        if self.fork_server is None or self.pid_namespaces is None:
            return set()
        return {self.fork_server.pid, *self.pid_namespaces.first_processes(), *self._pauses}

    def reaped(self, pid: int) -> None:
        """Forgets a pid, which another process may get from now on."""
        if self.pid_namespaces is not None:
            self.pid_namespaces.reaped(pid)
        self._pauses.discard(pid)

    @property
    def can_spawn(self) -> bool:
        """Whether a process that the keeper spawns now gets the right namespaces."""
        if self._network >= 0:
            return False
        return not self._moved or (linux.NEWPID in self._kinds and linux.NEWIPC in self._kinds)

    def here(self) -> tuple[list[int], list[int]]:
        """The kinds of the namespaces where the next process is to live, and descriptors of them to close."""
        flags = os.O_RDONLY | os.O_CLOEXEC
        kinds = [*self._kinds]
        opened = [os.open(_FILES[kind], flags, dir_fd=self._here) for kind in kinds]
        if self._network >= 0:
            kinds.append(linux.NEWNET)
            opened.append(os.dup(self._network))
        return kinds, opened

    def new_pod(self, *, network: bool) -> tuple[PodNamespaces, int]:
        """Namespaces for the containers of a pod, and the pid of the process that holds them."""
        if self.fork_server is None or self.walls_problem:
            raise _cannot(f"{_NO_WALLS}: {self.walls_problem}")
        pod, pause = pod_namespaces.create(self.fork_server, self._lock, network=network)
        self._pauses.add(pause)
        return pod, pause

    def enter(
        self, entry: ContainerRecord, spec: Spec, target: ContainerRecord | None, pod: PodNamespaces | None
    ) -> None:
        """Moves the keeper into the namespaces of the new container, which include those of its pod. With a
        `target`, they include the target's PID namespace, or all namespaces of the target if the new
        container has no mounts."""
        walls = spec.get("walls")
        try:
            if target is not None and not spec["mounts"]:
                self.enter_of(target.pid)
                self._share(entry, target)
            elif walls is None:
                self._enter_plain(entry, spec)
            else:
                self._enter_walls(entry, spec, walls, target, pod)
        except OSError as error:
            self.leave()
            raise Refused("RunContainerError", f"preparing the container's mounts: {error}") from None
        except BaseException:
            self.leave()
            raise

    def _enter_plain(self, entry: ContainerRecord, spec: Spec) -> None:
        mounts, termination = spec["mounts"], spec["termination"]
        if self.problem:
            if mounts or spec["read_only_root"]:
                raise _cannot(f"volumes cannot be mounted on this system: {self.problem}")
            return  # the termination message and the host name are not worth a refusal
        read_only = spec["read_only_root"]
        if termination or mounts or read_only:
            self._kinds.append(linux.NEWNS)
        if termination:
            self._mounts.enter_own(entry, mounts, termination, read_only)
        elif mounts or read_only:
            self._mounts.enter(key_of(mounts, "", read_only), mounts, "", read_only)
        if spec["hostname"]:
            self._kinds.append(linux.NEWUTS)
            linux.unshare(linux.NEWUTS)
            linux.sethostname(spec["hostname"])

    def _enter_walls(
        self,
        entry: ContainerRecord,
        spec: Spec,
        walls: Walls,
        target: ContainerRecord | None,
        pod: PodNamespaces | None,
    ) -> None:
        """Enters a PID namespace with its own /proc, IPC, shared memory and more; see system_mounts.py."""
        if self.pid_namespaces is None or self.walls_problem:
            raise _cannot(f"{_NO_WALLS}: {self.walls_problem}")
        is_own = target is None and pod is None and not walls["host_pid"]
        key = walls_key(spec, walls)
        self._kinds = [linux.NEWNS, linux.NEWUTS]
        self._moved = True
        pid_namespace = self.pid_namespaces.free_one(key) if is_own else None
        is_new = pid_namespace is None
        pid_namespace = pid_namespace or self._new_pid_namespace(walls, target, pod)
        entry.pid_namespace = pid_namespace
        pid_namespace.users += 1
        if walls["no_network"]:  # here, where /proc is the machine's
            own = f"/proc/{pid_namespace.first}/ns/net"
            self._network = os.dup(pod.network) if pod else os.open(own, os.O_RDONLY | os.O_CLOEXEC)
        if is_new:
            mounts, in_memory, overlaid = self._mount_all(pid_namespace, entry, spec, walls, pod)
            if is_own:
                pid_namespace.mounts, pid_namespace.key, pid_namespace.message_file = (
                    mounts,
                    key,
                    entry.message_file,
                )
                pid_namespace.marks = self.pid_namespaces.changes.mark(in_memory, overlaid)
            elif pid_namespace.mounts < 0:
                pid_namespace.mounts, pid_namespace.is_shared = mounts, True
            else:
                os.close(mounts)
        else:
            entry.message_file = pid_namespace.message_file
            linux.setns(pid_namespace.mounts, linux.NEWNS)
        joined = linux.NEWUTS | (0 if walls["host_pid"] else linux.NEWPID)
        linux.setns(pid_namespace.pidfd, joined)
        if not walls["host_pid"]:
            self._kinds.append(linux.NEWPID)
        if not walls["host_ipc"]:
            if pod is not None:
                linux.setns(pod.ipc, linux.NEWIPC)
            elif pid_namespace.ipc is not None:
                pid_namespace.ipc.enter()
            elif is_own and _is_closed(walls) and os.geteuid() == 0:
                pid_namespace.ipc = IpcNamespace(self._here)
            else:
                linux.unshare(linux.NEWIPC)
            self._kinds.append(linux.NEWIPC)
        wanted = spec["hostname"] or _MACHINE
        if pid_namespace.hostname != wanted:
            linux.sethostname(wanted)
            pid_namespace.hostname = wanted

    def _new_pid_namespace(
        self, walls: Walls, target: ContainerRecord | None, pod: PodNamespaces | None
    ) -> PidNamespace:
        assert self.pid_namespaces is not None
        if pod is None:
            return self.pid_namespaces.new(network=walls["no_network"])
        found = (
            target.pid_namespace
            if target is not None
            else pod.shared_pid_namespace()
            if walls["share_pid"]
            else None
        )
        if found is None:
            found = self.pid_namespaces.new()
            if walls["share_pid"]:
                pod.pid_namespace = found
        return found

    def _mount_all(
        self,
        pid_namespace: PidNamespace,
        entry: ContainerRecord,
        spec: Spec,
        walls: Walls,
        pod: PodNamespaces | None,
    ) -> tuple[int, list[str], list[str]]:
        """Enters a new mount namespace for the container. Returns the namespace, its directories in memory,
        and those directories that are behind an overlay."""
        assert self.pid_namespaces is not None
        mounts, termination = spec["mounts"], spec["termination"]
        read_only, is_full = spec["read_only_root"], walls["level"] == "full"
        is_closed = _is_closed(walls)
        at = termination[1] if termination else ""
        targets = [os.path.normpath(target) for _, target, _ in mounts]
        held: list[int] = []
        message, proc, memory, tmp = -1, pid_namespace.proc, -1, -1
        pid_namespace.proc = -1
        if proc >= 0:
            held.append(proc)
        try:
            if pod is not None and proc < 0:
                proc = pod_namespaces.processes(pid_namespace, self._own)
                held.append(proc)
            if pod is not None and not walls["host_ipc"]:
                memory = pod.memory(self._own)
                held.append(memory)
            if termination:
                entry.message_file = self.messages.place(termination[0])
                message = self.messages.tree(entry.message_file)
                held.append(message)
            if is_full and _TMP not in targets:
                directory = pid_namespace.tmp or self.pid_namespaces.give_tmp(pid_namespace)
                if any(target.startswith(f"{_TMP}/") for target in (*targets, at)):
                    mounts = [(directory, _TMP, read_only), *mounts]
                else:  # /tmp comes last, because the stage may be in the machine's /tmp
                    tmp = linux.open_tree(directory)
                    held.append(tmp)
            own_files = [source for source, _, _ in mounts]
            own_files += [path for path in (pid_namespace.tmp, entry.message_file) if path]
            secrets = Secrets(walls["hidden"], own_files)
            linux.unshare(linux.NEWNS)
            linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)
            made = os.open("mnt", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._here)

            first = system_mounts.own_devices if is_closed else None
            own = ("/dev",) if is_closed else ()
            in_memory, overlaid = file_tree.build(self._stage, mounts, at, read_only, first, own)
            if message >= 0:
                file_tree.bind(message, at, read_only=False)
            if tmp >= 0:
                file_tree.bind(tmp, _TMP, read_only=read_only)
            secrets.mask(overlaid)  # after all that was put together there
            if memory >= 0:
                linux.move_mount(memory, os.path.realpath("/dev/shm"))
            elif not walls["host_ipc"]:
                pid_namespace.note_shared_memory(system_mounts.own_shared_memory())
            in_memory += system_mounts.own_terminals()
            if not walls["host_pid"]:
                system_mounts.own_processes(proc)
            if is_closed and os.geteuid() == 0:
                system_mounts.protect_kernel()
        finally:
            for fd in held:
                os.close(fd)
        return made, in_memory, overlaid

    def _share(self, entry: ContainerRecord, target: ContainerRecord) -> None:
        """Counts the container in the target's PID namespace, so that no other container gets that."""
        if target.pid_namespace is not None:
            entry.pid_namespace = target.pid_namespace
            entry.pid_namespace.users += 1

    def enter_of(self, pid: int) -> None:
        """Moves the keeper into the namespaces of a process."""
        if self.problem:
            return
        try:
            for name, kind in _KINDS.items():
                if os.readlink(f"/proc/{pid}/ns/{name}") == self._links[name]:
                    continue
                if kind == linux.NEWNET:
                    self._network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
                else:
                    self._kinds.append(kind)
            if self._kinds:
                linux.join(pid, functools.reduce(operator.or_, self._kinds))
                self._moved = self._moved or linux.NEWPID in self._kinds or linux.NEWIPC in self._kinds
        except (FileNotFoundError, ProcessLookupError):
            self.leave()
            raise Refused("RunContainerError", "the container is not running") from None
        except OSError as error:
            self.leave()
            raise Refused("RunContainerError", f"entering the container: {error}") from None

    def leave(self) -> None:
        """Returns the keeper to its own mounts and host name."""
        if self._kinds:
            linux.setns(self._own, linux.NEWNS)
            if linux.NEWUTS in self._kinds and not self._moved:
                linux.setns(self._own_uts, linux.NEWUTS)
            self._kinds = []
        if self._network >= 0:
            os.close(self._network)
            self._network = -1

    def release(self, entry: ContainerRecord) -> None:
        """Collects the message of an ended container, and frees its namespaces for others."""
        if entry.pid_namespace is not None:
            self._release_pid_namespace(entry, entry.pid_namespace)
        elif entry.message_file:
            self._mounts.release(entry)

    def _release_pid_namespace(self, entry: ContainerRecord, pid_namespace: PidNamespace) -> None:
        assert self.pid_namespaces is not None
        entry.pid_namespace = None
        file = entry.message_file
        good = self.messages.collect(file, entry.termination) if file else True
        is_own = pid_namespace.message_file == file
        kept = self.pid_namespaces.leave(pid_namespace, good=good and is_own and not entry.execs)
        if file and not (kept and is_own):
            self.messages.discard(file)

    @property
    def keeps_some(self) -> bool:
        return self._mounts.keeps_some or bool(self.pid_namespaces and self.pid_namespaces.keeps_some)

    def forget_unused(self) -> bool:
        """Closes namespaces that were not used lately. Returns whether any is left."""
        old = time.monotonic() - _KEPT_SECONDS
        self._mounts.forget_unused(old)
        self._forget_pid_namespaces(old)
        return self.keeps_some

    def close(self) -> None:
        self._mounts.close()
        self._forget_pid_namespaces(float("inf"))
        self.messages.close()

    def _forget_pid_namespaces(self, unused_since: float) -> None:
        for pid_namespace in self.pid_namespaces.forget_unused(unused_since) if self.pid_namespaces else ():
            if pid_namespace.message_file:
                self.messages.discard(pid_namespace.message_file)


def _is_closed(walls: Walls) -> bool:
    """Whether devices and kernel files are restricted, as in containers of other runtimes."""
    return walls["level"] == "full" and not walls["privileged"]


def _cannot(message: str) -> Refused:
    return Refused("CreateContainerConfigError", message)
