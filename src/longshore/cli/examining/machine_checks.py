"""Checks of this machine: isolation of pods, limits, ports, podman, programs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from longshore.cli.examining.findings import Finding

_OPEN_FILES: Final = 4096
"""Enough descriptors for some thousand pods and watchers."""
_PODMAN_SECONDS: Final = 20
_APPARMOR: Final = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_CLONE: Final = Path("/proc/sys/kernel/unprivileged_userns_clone")


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    text = ".".join(map(str, version))
    if version < (3, 11):
        return Finding("python", "broken", f"{text} is older than 3.11", "install Python 3.11 or newer")
    return Finding("python", "ok", text)


def namespaces() -> Finding:
    from longshore.node.keeper.walls import permissions

    return namespaces_finding(permissions.problem(), _setting(_APPARMOR), _setting(_CLONE))


def namespaces_finding(problem: str, apparmor: str, clone: str) -> Finding:
    """`problem` says why a pod gets no mounts of its own; the others are settings of the kernel."""
    if not problem:
        return Finding("namespaces", "ok", "pods get mounts of their own")
    help = "run longshore as root, or in podman: longshore up --runtime podman"
    if apparmor == "1":
        help = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    elif clone == "0":
        help = "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    text = f"pods with volumes cannot run as processes: {problem}"
    return Finding("namespaces", "limited", text, help)


def _setting(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def cgroups() -> Finding:
    from longshore.node.keeper.walls import cgroups

    base = cgroups.find_base()
    if base:
        with contextlib.suppress(OSError):
            os.rmdir(base)
    return cgroups_finding(base)


def cgroups_finding(base: str) -> Finding:
    """`base` is a cgroup in which cgroups of pods can be made; empty if there is none."""
    if base:
        return Finding("cgroups", "ok", "limits of pods are kept by the kernel (cgroup v2)")
    return Finding(
        "cgroups",
        "limited",
        "limits of pods are kept by looking from time to time: there is no cgroup v2 to write to",
        "systemd-run --user --scope -p Delegate=yes longshore up",
    )


def open_files(soft: int | None = None) -> Finding:
    if soft is None:
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= soft < _OPEN_FILES:
        text = f"{soft} open files for each process; many pods need more"
        return Finding("open files", "limited", text, "ulimit -n 65536")
    return Finding("open files", "ok", "no limit" if soft < 0 else f"{soft} for each process")


def processes(soft: int | None = None) -> Finding:
    if soft is None:
        soft = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if 0 <= soft < 512:
        return Finding(
            "processes", "limited", f"{soft} for this user; pods are processes, too", "ulimit -u 4096"
        )
    return Finding("processes", "ok", "no limit" if soft < 0 else f"{soft} for this user")


def port(number: int, ours: bool) -> Finding:
    """Checks a port. `ours` says whether a longshore of the data directory runs, which holds it."""
    what = f"port {number}"
    if ours:
        return Finding(what, "ok", "the longshore of this data directory runs")
    try:
        socket.create_server(("127.0.0.1", number)).close()
    except PermissionError:
        help = f"longshore up --port {number + 8000}"
        return Finding(what, "broken", "only root may listen on it", help)
    except OSError:
        return Finding(what, "broken", "another program listens on it", "longshore up --port 0")
    return Finding(what, "ok", "free")


def addresses() -> Finding:
    """Checks that pods can have addresses of the loopback network."""
    try:
        socket.create_server(("127.1.2.3", 0)).close()
    except OSError as err:
        reason = os.strerror(err.errno or 0)
        return Finding(
            "addresses", "limited", f"pods get no address of their own: {reason}", "sudo ip link set lo up"
        )
    return Finding("addresses", "ok", "pods get addresses of 127.0.0.0/8")


def podman(program: str | None = None) -> Finding:
    """Checks podman, which only pods with `runtimeClassName: podman` need."""
    found = program or shutil.which("podman")
    if found is None:
        return Finding("podman", "absent", "pods run as processes, not as containers of their images")
    words = [found, "info", "--format", "{{.Version.Version}}"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PODMAN_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as err:
        reason = "no answer" if isinstance(err, subprocess.TimeoutExpired) else os.strerror(err.errno or 0)
        return Finding("podman", "limited", f"does not work: {reason}", "podman info")
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it gives no reason"])[-1]
        return Finding("podman", "limited", f"does not work: {said.removeprefix('Error: ')}", "podman info")
    return Finding("podman", "ok", done.stdout.strip())


def programs(path: str | None = None) -> Finding:
    missing = [name for name in ("sh", "tar") if shutil.which(name, path=path) is None]
    if missing:
        text = f"{', '.join(missing)} not found: longshore cp and shell commands in pods need them"
        return Finding("programs", "limited", text, f"install {' and '.join(missing)}")
    return Finding("programs", "ok", "sh and tar are there")


_CURE_FOR_ROOT: Final = (
    "give longshore's container the capability SYS_ADMIN, or: longshore up --runtime podman"
)
"""Help for root without the right to make namespaces, which is root of a container."""
_AS_ROOT_OF_A_NAMESPACE: Final = "pods can have any level up to full, as root of a user namespace"


def isolation() -> Finding:
    """Checks isolation with a keeper of its own, which tries to isolate a process."""
    from longshore.node.keeper.walls import users
    from longshore.node.preparing import isolation

    strongest, problem = asyncio.run(_tried())
    for_users, way_out = isolation.for_users(), isolation.way_out()
    is_root = os.geteuid() == 0
    found = isolation_finding(strongest, problem, is_root=is_root, for_users=for_users, way_out=way_out)
    if is_root and not users.is_machine_root() and strongest == "full":
        return Finding("isolation", "ok", _AS_ROOT_OF_A_NAMESPACE)
    return found


async def _tried() -> tuple[str, str]:
    """The strongest level of isolation, and why it is not full."""
    from longshore.node.runtimes.process import ProcessRuntime

    with tempfile.TemporaryDirectory(prefix="longshore-doctor-") as directory:
        runtime = ProcessRuntime(Path(directory) / "keeper", owned=True, isolation="full")
        try:
            await runtime.open(lambda _: None)
        except Exception as err:  # a keeper that does not start says so in ways of its own
            return "none", str(err)
        try:
            features = await runtime.features()
            return features.strongest, features.isolation_problem
        finally:
            await runtime.close(kill=True)


def isolation_finding(
    strongest: str, problem: str, *, is_root: bool, for_users: str, way_out: str
) -> Finding:
    """`problem` says why there is no stronger level; `for_users` is the cure if a setting forbids isolation
    to users."""
    if strongest == "process":
        text = f"pods can have level process, not full: they see each other's files: {problem}"
        return Finding("isolation", "limited", text, _CURE_FOR_ROOT if is_root else way_out)
    if problem:
        text = f"pods can have level none alone, and are not kept to themselves: {problem}"
        return Finding("isolation", "limited", text, _CURE_FOR_ROOT if is_root else way_out)
    if not is_root:
        return Finding("isolation", "ok", "pods can have any level up to full, as an ordinary user")
    if for_users:
        text = "pods can have any level up to full as root, but none where an ordinary user starts longshore"
        return Finding("isolation", "ok", text, for_users)
    text = (
        "pods can have any level up to full, as root; no setting of the kernel forbids it to ordinary users"
    )
    return Finding("isolation", "ok", text)
