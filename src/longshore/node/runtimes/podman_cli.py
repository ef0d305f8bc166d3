"""Runs podman's commands, a few at a time, and finds the settings that this machine needs."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
from typing import Any, Final, NamedTuple

from longshore.api.types import decode

_MAX_COMMANDS: Final = 4
"""The limit of podman commands at a time: each takes some 50 MB, and podman's database has one writer."""
_CAP_SYS_RESOURCE: Final = 1 << 24


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def problem(self) -> str:
        """The last line of its errors, without `Error: ` in front."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[-1].removeprefix("Error: ") if lines else f"podman ended with {self.code}"


class PodmanMissing(Exception):
    """There is no podman on this machine. Install it, or use the process runtime."""

    def __init__(self) -> None:
        super().__init__(
            "there is no podman here; install it (tools/install-podman), or use --runtime process"
        )


class Cli:
    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_MAX_COMMANDS)

    async def run(self, *words: str) -> Ran:
        """Runs podman. Output goes to files in memory: the monitor of `start` would hold pipes open."""
        out, err = os.memfd_create("out"), os.memfd_create("err")
        try:
            async with self._turns:
                process = await asyncio.create_subprocess_exec(
                    "podman",
                    *words,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=environment(),
                    cwd="/tmp",  # its monitor leaves a file here when memory runs out
                    start_new_session=True,  # Ctrl-C at longshore's terminal is not for it
                )
                code = await process.wait()
            return Ran(code, _content(out), _content(err))
        except FileNotFoundError:
            raise PodmanMissing from None
        finally:
            os.close(out)
            os.close(err)

    async def json(self, *words: str) -> Any:
        """The output of a command that must succeed."""
        ran = await self.run(*words)
        if ran.code:
            raise RuntimeError(f"podman {' '.join(words)}: {ran.problem}")
        return decode(ran.out or "null")

    async def oci_runtime(self) -> str:
        """The OCI runtime to use if the default does not work, else "": crun refuses cgroup v1 beside parts
        of version 2."""
        info = await self.json("info", "--format", "json")
        host = info["host"]
        if host["cgroupVersion"] == "v1" and host["ociRuntime"]["name"] == "crun" and shutil.which("runc"):
            return "runc"
        return ""


def _content(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode(errors="replace")


def environment() -> dict[str, str]:
    """The environment of podman: timestamps of logs are in UTC."""
    return {**os.environ, "TZ": "UTC"}


def ulimits() -> tuple[str, ...]:
    """The ulimits of containers if longshore may not raise limits (it lacks CAP_SYS_RESOURCE): no more than
    its own."""
    with open("/proc/self/status") as status:
        rights = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:"))
    if rights & _CAP_SYS_RESOURCE or os.geteuid() != 0:
        return ()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    # Podman lowers its own limit of processes before it sets that of a container.
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1] // 4
    return _limit("nofile", files), _limit("nproc", processes)


def _limit(name: str, value: int) -> str:
    return f"{name}={value}:{value}"
