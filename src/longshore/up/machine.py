"""The machine as a node describes it: its capacity, its system, its name."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from longshore.node.capacity import PODS, Capacity
from longshore.node.registration import Machine

_ARCH: Final = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


def capacity(storage: Path, *, declared: Mapping[str, str] | None = None) -> Capacity:
    """The capacity of this machine. `storage` is on the disk that pods write to."""
    disk = os.statvfs(storage)
    found = {
        "cpu": str(len(os.sched_getaffinity(0))),
        "memory": f"{_memory() // 1024}Ki",
        "ephemeral-storage": f"{disk.f_blocks * disk.f_frsize // 1024}Ki",
        "pods": str(PODS),
    }
    return Capacity({**found, **(declared or {})})


def described() -> Machine:
    """The machine's architecture and system, as far as they can be read."""
    machine = os.uname()
    return Machine(
        architecture=_ARCH.get(machine.machine, machine.machine),
        id=_first_line("/etc/machine-id"),
        boot_id=_first_line("/proc/sys/kernel/random/boot_id"),
        kernel=machine.release,
        os_image=_os_image(),
    )


def name() -> str:
    """The machine's name, changed to one that an object of the API can have."""
    return re.sub("[^a-z0-9.-]+", "-", socket.gethostname().lower()).strip("-.") or "localhost"


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _first_line(path: str) -> str:
    try:
        with open(path) as file:
            return file.readline().strip()
    except OSError:
        return ""


def _os_image() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"
