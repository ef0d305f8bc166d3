"""The usage of a podman container, read from the control group of its first process."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from longshore.node.runtime import Usage

_GROUPS: Final = Path("/sys/fs/cgroup")


def of_process(pid: int) -> Usage | None:
    """None when it has ended, or has no control group that counts."""
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
