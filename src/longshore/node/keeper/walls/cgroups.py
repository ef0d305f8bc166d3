"""Limits by cgroup v2: a group for each container that has limits, below one of the keeper's own.

The keeper does not have to move: it makes its group beside the one it lives in, below the nearest ancestor
that it may write to and that gives its children the memory controller. A user without that right has no such
ancestor.
"""

from __future__ import annotations

import contextlib
import os

from longshore.node.keeper.container_records import ContainerRecord
from longshore.node.keeper.procfs import ProcessSnapshot

_PERIOD_MICROSECONDS = 100_000  # upstream's cpu.cfs_period
_WANTED = ("memory", "cpu", "pids")


def find_base() -> str:
    """Makes a group for the groups of containers; returns its path, or "" if that is impossible."""
    root, own = _root(), _own()
    if not root or own is None:
        return ""
    at = root + own
    while at.startswith(root):
        base = os.path.join(at, f"longshore-{os.getpid()}")
        if "memory" in _read(f"{at}/cgroup.subtree_control").split() and _make_base(base):
            return base
        if at.rstrip("/") == root:
            break
        at = os.path.dirname(at.rstrip("/"))
    return ""


def _make_base(base: str) -> bool:
    """Makes the group with its controllers, and tries it with a child. Returns whether it works."""
    try:
        os.mkdir(base)
        has = _read(f"{base}/cgroup.controllers").split()
        _write(f"{base}/cgroup.subtree_control", " ".join(f"+{name}" for name in _WANTED if name in has))
        probe = f"{base}/probe"
        os.mkdir(probe)
        pid = os.fork()
        if pid == 0:
            try:
                _write(f"{probe}/cgroup.procs", "0")
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        os.rmdir(probe)
        if status == 0:
            return True
    except OSError:
        pass
    with contextlib.suppress(OSError):
        os.rmdir(f"{base}/probe")
    with contextlib.suppress(OSError):
        os.rmdir(base)
    return False


class Cgroups:
    name = "cgroup v2"

    def __init__(self, base: str) -> None:
        self._base = base
        self._left: list[str] = []
        self.notes: list[str] = []

    def prepare(self, entry: ContainerRecord) -> int:
        spec = entry.spec
        if spec is None or not (spec["memory"] or spec["cpu"] or spec["cpu_request"]):
            return -1
        path = self._path(entry)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
        if spec["memory"]:
            _write(f"{path}/memory.max", str(spec["memory"]))
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with contextlib.suppress(OSError):  # not every kernel has them
                    _write(f"{path}/{name}", value)
        with contextlib.suppress(OSError):  # the cpu controller may not be given to us
            if spec["cpu"]:
                _write(
                    f"{path}/cpu.max",
                    f"{max(1000, spec['cpu'] * _PERIOD_MICROSECONDS // 1000)} {_PERIOD_MICROSECONDS}",
                )
            if spec["cpu_request"]:
                _write(f"{path}/cpu.weight", str(weight(spec["cpu_request"])))
        entry.cgroup = path
        return self.join(entry)

    def join(self, entry: ContainerRecord) -> int:
        path = entry.cgroup
        return os.open(f"{path}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) if path else -1

    def started(self, entry: ContainerRecord) -> None:
        """Finds the group of an adopted container, which an earlier keeper made."""
        if entry.adopted:
            own = _read(f"/proc/{entry.pid}/cgroup").rpartition("0::")[2].strip()
            if os.path.basename(own) == entry.key.replace("/", "_"):
                entry.cgroup = _root() + own

    def ended(self, entry: ContainerRecord) -> bool:
        if not entry.cgroup:
            return bool(entry.oom)
        killed = False
        for line in _read(f"{entry.cgroup}/memory.events").splitlines():
            name, _, number = line.partition(" ")
            if name == "oom_kill" and number != "0":
                killed = True
                entry.oom = int(_read(f"{entry.cgroup}/memory.peak") or 0) or entry.memory
        with contextlib.suppress(OSError):
            _write(f"{entry.cgroup}/cgroup.kill", "1")
        self._left.append(entry.cgroup)
        entry.cgroup = ""
        return killed

    def look(self, running: list[ContainerRecord]) -> float:
        """Removes the groups of ended containers, once their last process has gone."""
        left, self._left = self._left, []
        for path in left:
            try:
                os.rmdir(path)
            except FileNotFoundError:
                continue
            except OSError:
                self._left.append(path)
        return 0.5 if self._left else 0

    def usage(self, entry: ContainerRecord, snapshot: ProcessSnapshot) -> tuple[float, int] | None:
        if not entry.cgroup:
            return None
        cpu = _field(f"{entry.cgroup}/cpu.stat", "usage_usec") / 1e6
        memory = int(_read(f"{entry.cgroup}/memory.current") or 0)
        return cpu, max(0, memory - _field(f"{entry.cgroup}/memory.stat", "inactive_file"))

    def _path(self, entry: ContainerRecord) -> str:
        return f"{self._base}/{entry.key.replace('/', '_')}"


def weight(millis: int) -> int:
    """The cpu.weight for a request, computed from the shares of cgroup v1 as kubelets do."""
    shares = max(2, millis * 1024 // 1000)
    return max(1, min(10000, 1 + (shares - 2) * 9999 // 262142))


def _root() -> str:
    with open("/proc/self/mountinfo") as file:
        for line in file:
            before, _, after = line.partition(" - ")
            if after.startswith("cgroup2 "):
                return before.split()[4]
    return ""


def _own() -> str | None:
    for line in _read("/proc/self/cgroup").splitlines():
        if line.startswith("0::"):
            return line[3:]
    return None


def _field(path: str, wanted: str) -> int:
    for line in _read(path).splitlines():
        name, _, number = line.partition(" ")
        if name == wanted:
            return int(number)
    return 0


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
