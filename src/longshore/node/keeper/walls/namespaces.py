"""Namespaces: what a container sees at the paths its manifest names, and nobody else does, and its walls.

The keeper has one thread, so it may enter a namespace, start the container there and come back; nothing is
forked for it. Where a container has mounts and no walls, kept_mounts.py knows the namespace.

A container with walls lives in a cell (pid_cells.py). The keeper enters it so, too, but comes back to its
own files alone: its later children stay in PID and IPC namespaces of others, because an ordinary user may not
return from those. What is to be born at home is then born by the nursery.

Root may do this anywhere. Another user may in a user namespace, where the system lets users have one: the
keeper then lives in one from its start (permissions.py), and all containers with it.
"""

from __future__ import annotations

import functools
import operator
import os
import time

from longshore.node.keeper.processes import linux
from longshore.node.keeper.records.entry import Entry
from longshore.node.keeper.records.termination_files import Messages
from longshore.node.keeper.talking.refused import Refused
from longshore.node.keeper.walls import file_tree, furnishing, permissions
from longshore.node.keeper.walls.ipc_spaces import IpcSpace
from longshore.node.keeper.walls.kept_mounts import KeptMounts, key_of
from longshore.node.keeper.walls.pid_cells import Cell, Cells

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.talking.frames import Spec, Walls
    from longshore.node.keeper.walls.nursery import Nursery

_KINDS = {
    "mnt": linux.NEWNS,
    "uts": linux.NEWUTS,
    "ipc": linux.NEWIPC,
    "pid": linux.NEWPID,
    "net": linux.NEWNET,
}
_FILES = {kind: name for name, kind in _KINDS.items()} | {linux.NEWPID: "pid_for_children"}
_TMP = "/tmp"
_MACHINE = os.uname().nodename
_KEPT_SECONDS = 30.0  # a namespace holds on to its volumes, so it is not kept long for the next container


class Namespaces:
    """`nursery` is None where containers can have no walls."""

    def __init__(self, directory: str, problem: str, nursery: Nursery | None) -> None:
        self.problem = problem
        """Why there can be none, or ""."""
        self.messages = Messages(directory)
        self.nursery = nursery
        self.cells = Cells(os.path.join(directory, "tmp"), nursery) if nursery is not None else None
        if self.cells is not None:
            problem = self.cells.problem() or permissions.terminals_problem()
        self.walls_problem = problem
        """Why containers can have no walls, or ""."""
        self.full_problem = self.walls_problem or permissions.full_problem()
        """Why containers can have no walls of level full, or ""."""
        self._stage = os.path.join(directory, "stage")
        os.makedirs(self._stage, mode=0o700, exist_ok=True)
        self._links = {name: os.readlink(f"/proc/self/ns/{name}") for name in _KINDS}
        """The namespaces of home, where the nursery is."""
        self._here = os.open("/proc/self/ns", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        """The namespaces the keeper is in, at any time: a container's /proc does not know the keeper."""
        self._own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        self._own_uts = os.open("/proc/self/ns/uts", os.O_RDONLY | os.O_CLOEXEC)
        self._mounts = KeptMounts(self._stage, self.messages)
        self._kinds: list[int] = []
        """The namespaces, other than home's, that the next process is to live in."""
        self._network = -1
        """The network namespace it is to live in, or -1 for home's. The keeper never enters one: an ordinary
        user could not come back."""
        self._moved = False
        """Whether what the keeper spawns is in a PID and an IPC namespace other than home's, for good."""

    @property
    def own_processes(self) -> set[int]:
        """Children of the keeper that belong to no container: the nursery, the first processes of cells."""
        if self.nursery is None or self.cells is None:
            return set()
        return {self.nursery.pid, *self.cells.first_processes()}

    def reaped(self, pid: int) -> None:
        """The pid may be another process' from now on."""
        if self.cells is not None:
            self.cells.reaped(pid)

    @property
    def can_spawn(self) -> bool:
        """Whether a process that the keeper spawns now is where it is to live."""
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

    def enter(self, entry: Entry, spec: Spec, beside: Entry | None) -> None:
        """Moves the keeper to where this container is to live. `beside` is a container of the same pod whose
        surroundings it shares: all of them if it has no mounts of its own."""
        walls = spec.get("walls")
        try:
            if beside is not None and spec.get("target") and not spec["mounts"]:
                self.enter_of(beside.pid)
                self._share(entry, beside)
            elif walls is None:
                self._enter_plain(entry, spec)
            else:
                self._enter_cell(entry, spec, walls, beside)
        except OSError as error:
            self.leave()
            raise Refused("RunContainerError", f"preparing the container's mounts: {error}") from None
        except BaseException:
            self.leave()
            raise

    def _enter_plain(self, entry: Entry, spec: Spec) -> None:
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

    def _enter_cell(self, entry: Entry, spec: Spec, walls: Walls, beside: Entry | None) -> None:
        """A PID namespace with its own /proc, IPC, shared memory and more; see furnishing.py."""
        if self.cells is None or self.walls_problem:
            raise _cannot(f"containers can have no walls on this system: {self.walls_problem}")
        is_own = beside is None and not walls["siblings"] and not walls["host_pid"]
        key = _cell_key(spec, walls)
        self._kinds = [linux.NEWNS, linux.NEWUTS]
        self._moved = True
        cell = self.cells.free_one(key) if is_own else None
        if cell is None:
            cell = self._new_cell(spec, walls, beside)
            entry.cell = cell
            cell.users += 1
            mounts, in_memory, overlaid = self._furnish(cell, entry, spec, walls, beside)
            if is_own:
                cell.mounts, cell.key, cell.message_file = mounts, key, entry.message_file
                cell.marks = self.cells.traces.mark(in_memory, overlaid)
            else:
                os.close(mounts)
        else:
            entry.cell = cell
            cell.users += 1
            entry.message_file = cell.message_file
            linux.setns(cell.mounts, linux.NEWNS)
        joined = linux.NEWUTS | (0 if walls["host_pid"] else linux.NEWPID)
        linux.setns(cell.pidfd, joined)
        if not walls["host_pid"]:
            self._kinds.append(linux.NEWPID)
        if not walls["host_ipc"]:
            if beside is not None:
                _join(beside.pid, linux.NEWIPC)
            elif cell.ipc is not None:
                cell.ipc.enter()
            elif is_own and _is_closed(walls) and os.geteuid() == 0:
                cell.ipc = IpcSpace(self._here)
            else:
                linux.unshare(linux.NEWIPC)
            self._kinds.append(linux.NEWIPC)
        wanted = spec["hostname"] or _MACHINE
        if cell.hostname != wanted:
            linux.sethostname(wanted)
            cell.hostname = wanted

    def _new_cell(self, spec: Spec, walls: Walls, beside: Entry | None) -> Cell:
        assert self.cells is not None
        if beside is not None and beside.cell is not None:
            beside.cell.is_shared = True
            if walls["no_network"]:
                self._network = os.open(f"/proc/{beside.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            return beside.cell if walls["share_pid"] or spec.get("target") else self.cells.new()
        cell = self.cells.new(network=walls["no_network"])
        if walls["no_network"]:
            self._network = os.open(f"/proc/{cell.first}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        return cell

    def _furnish(
        self, cell: Cell, entry: Entry, spec: Spec, walls: Walls, beside: Entry | None
    ) -> tuple[int, list[str], list[str]]:
        """Enters a new mount namespace for the container, and returns it, with its directories that are in
        memory, and those of them that are behind an overlay."""
        assert self.cells is not None
        mounts, termination = spec["mounts"], spec["termination"]
        read_only, is_full = spec["read_only_root"], walls["level"] == "full"
        is_closed = _is_closed(walls)
        at = termination[1] if termination else ""
        targets = [os.path.normpath(target) for _, target, _ in mounts]
        held: list[int] = []
        message, proc, memory, tmp = -1, cell.proc, -1, -1
        cell.proc = -1
        if proc >= 0:
            held.append(proc)
        try:
            if beside is not None and not self.problem:
                proc, memory = self._shared_mounts(beside, held, proc)
            if termination:
                entry.message_file = self.messages.place(termination[0])
                message = self.messages.tree(entry.message_file)
                held.append(message)
            if is_full and _TMP not in targets:
                directory = cell.tmp or self.cells.give_tmp(cell)
                if any(target.startswith(f"{_TMP}/") for target in (*targets, at)):
                    mounts = [(directory, _TMP, read_only), *mounts]
                else:  # last, because the stage may be in the machine's /tmp
                    tmp = linux.open_tree(directory)
                    held.append(tmp)
            linux.unshare(linux.NEWNS)
            linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)
            made = os.open("mnt", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._here)

            first = furnishing.own_devices if is_closed else None
            own = ("/dev",) if is_closed else ()
            in_memory, overlaid = file_tree.build(self._stage, mounts, at, read_only, first, own)
            if message >= 0:
                file_tree.bind(message, at, read_only=False)
            if tmp >= 0:
                file_tree.bind(tmp, _TMP, read_only=read_only)
            for path in walls["hidden"] if is_full else ():
                furnishing.hide(path)  # after all that was put together there
            if memory >= 0:
                linux.move_mount(memory, os.path.realpath("/dev/shm"))
            elif not walls["host_ipc"]:
                cell.furnished(furnishing.own_shared_memory())
            in_memory += furnishing.own_terminals()
            if not walls["host_pid"]:
                furnishing.own_processes(proc)
            if is_closed and os.geteuid() == 0:
                furnishing.protect_kernel()
        finally:
            for fd in held:
                os.close(fd)
        return made, in_memory, overlaid

    def _shared_mounts(self, beside: Entry, held: list[int], proc: int) -> tuple[int, int]:
        """The /proc of the other's PID namespace, if this container has none of its own, and its /dev/shm."""
        _join(beside.pid, linux.NEWNS)
        try:
            if proc < 0:
                proc = linux.open_tree("/proc")
                held.append(proc)
            memory = linux.open_tree(os.path.realpath("/dev/shm"))
            held.append(memory)
        finally:
            linux.setns(self._own, linux.NEWNS)
        return proc, memory

    def _share(self, entry: Entry, beside: Entry) -> None:
        """The container lives in the other's cell, which must not go to a third one meanwhile."""
        if beside.cell is not None:
            entry.cell = beside.cell
            entry.cell.users += 1

    def enter_of(self, pid: int) -> None:
        """Moves the keeper to where a process lives."""
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
                _join(pid, functools.reduce(operator.or_, self._kinds))
                self._moved = self._moved or linux.NEWPID in self._kinds or linux.NEWIPC in self._kinds
        except OSError as error:
            self.leave()
            raise Refused("RunContainerError", f"entering the container: {error}") from None

    def leave(self) -> None:
        """Back home, as far as files and names go."""
        if self._kinds:
            linux.setns(self._own, linux.NEWNS)
            if linux.NEWUTS in self._kinds and not self._moved:
                linux.setns(self._own_uts, linux.NEWUTS)
            self._kinds = []
        if self._network >= 0:
            os.close(self._network)
            self._network = -1

    def release(self, entry: Entry) -> None:
        """The container has ended: its message is taken, and its cell or copy of a namespace is free."""
        if entry.cell is not None:
            self._release_cell(entry, entry.cell)
        elif entry.message_file:
            self._mounts.release(entry)

    def _release_cell(self, entry: Entry, cell: Cell) -> None:
        assert self.cells is not None
        entry.cell = None
        file = entry.message_file
        good = self.messages.collect(file, entry.termination) if file else True
        is_own = cell.message_file == file
        kept = self.cells.leave(cell, good=good and is_own and not entry.execs)
        if file and not (kept and is_own):
            self.messages.discard(file)

    @property
    def keeps_some(self) -> bool:
        return self._mounts.keeps_some or bool(self.cells and self.cells.keeps_some)

    def forget_unused(self) -> bool:
        """Lets go of those that nobody asked for lately. Whether any is left."""
        old = time.monotonic() - _KEPT_SECONDS
        self._mounts.forget_unused(old)
        if self.cells is not None:
            for cell in self.cells.forget_unused(old):
                if cell.message_file:
                    self.messages.discard(cell.message_file)
        return self.keeps_some

    def close(self) -> None:
        self._mounts.close()
        if self.cells is not None:
            for cell in self.cells.forget_unused(float("inf")):
                if cell.message_file:
                    self.messages.discard(cell.message_file)
        self.messages.close()


def _cell_key(spec: Spec, walls: Walls) -> object:
    termination = spec["termination"]
    return (
        walls["level"],
        walls["privileged"],
        walls["no_network"],
        walls["host_ipc"],
        tuple(walls["hidden"]),
        key_of(spec["mounts"], termination[1] if termination else "", spec["read_only_root"]),
    )


def _is_closed(walls: Walls) -> bool:
    """Whether the container sees devices and files of the kernel as containers of others do."""
    return walls["level"] == "full" and not walls["privileged"]


def _join(pid: int, kinds: int) -> None:
    """Enters namespaces of a process."""
    pidfd = os.pidfd_open(pid)
    try:
        linux.setns(pidfd, kinds)
    finally:
        os.close(pidfd)


def _cannot(message: str) -> Refused:
    return Refused("CreateContainerConfigError", message)
