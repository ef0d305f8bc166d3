"""Mounts the system's directories for a container with walls: /proc, /dev, /sys.

The paths that are covered or read-only are containerd's.
"""

from __future__ import annotations

import contextlib
import os
import re

from longshore.node.keeper import linux

_COVERED = (
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
)
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_DEVICES = re.compile("(null|zero|full|random|urandom|tty|nvidia.*|dri|kfd|accel|infiniband|dxg)$")
"""The devices of every container, and accelerators. No disks, no memory, no terminals of the machine."""
_TERMINALS = "/dev/pts"
_LINKS = (
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
    ("pts/ptmx", "ptmx"),
)


def own_devices() -> None:
    """Mounts a /dev with the devices that containers need and a place for terminals (`own_terminals`)."""
    shown = []
    for entry in os.scandir("/dev"):
        if _DEVICES.match(entry.name) and not entry.is_symlink():
            shown.append((entry.name, entry.is_dir(), linux.open_tree(f"/dev/{entry.name}")))
    linux.mount("longshore", "/dev", "tmpfs", linux.MS_NOSUID, "mode=755,size=64k")
    for name, is_directory, tree in shown:
        path = f"/dev/{name}"
        if is_directory:
            os.mkdir(path)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
        linux.move_mount(tree, path)
        os.close(tree)
        linux.make_read_only(path)  # modes and owners; devices are written to all the same
    for target, name in _LINKS:
        os.symlink(target, f"/dev/{name}")
    os.mkdir("/dev/shm")
    os.mkdir(_TERMINALS)


def hide(path: str) -> None:
    """Covers a directory by an empty, read-only one."""
    if os.path.isdir(path):
        linux.mount("longshore", path, "tmpfs", linux.MS_RDONLY | linux.MS_NOSUID, "mode=555,size=4k")


def own_shared_memory() -> int:
    """Mounts a /dev/shm for the container alone. Returns its descriptor, or -1 if the machine has none."""
    path = os.path.realpath("/dev/shm")
    if not os.path.isdir(path):
        return -1
    linux.mount("longshore", path, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777")
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def own_terminals() -> list[str]:
    """Mounts a /dev/pts for the container alone, in which /dev/ptmx then makes terminals. Returns a list with
    the directory, which is empty if the machine has none."""
    if not os.path.isdir(_TERMINALS):
        return []
    flags = linux.MS_NOSUID | linux.MS_NOEXEC
    linux.mount("longshore", _TERMINALS, "devpts", flags, "newinstance,ptmxmode=0666,mode=0600")
    return [_TERMINALS]


def own_processes(proc: int) -> None:
    """Mounts the /proc of the container's PID namespace over the machine's."""
    linux.move_mount(proc, "/proc")


def protect_kernel() -> None:
    """Covers files of the kernel by which root could change the machine, or makes them read-only."""
    for path in _READ_ONLY:
        with contextlib.suppress(FileNotFoundError):
            linux.mount(path, path, flags=linux.MS_BIND | linux.MS_REC)
            linux.make_read_only(path)
    for path in _COVERED:
        with contextlib.suppress(FileNotFoundError):
            if os.path.isdir(path):
                hide(path)
            else:
                linux.mount("/dev/null", path, flags=linux.MS_BIND)
    linux.make_read_only("/sys")
    with contextlib.suppress(FileNotFoundError):
        hide("/sys/firmware")
