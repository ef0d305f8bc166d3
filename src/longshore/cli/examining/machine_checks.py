"""Checks of this machine: walls around pods, limits, ports, podman, programs."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

from longshore.cli.examining.findings import Finding

_OPEN_FILES: Final = 4096
"""Descriptors for some thousand pods and watchers."""
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
    """`base` is a group that groups of pods can be made in."""
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
    """`ours` says whether a longshore of the data directory runs: it holds its port itself."""
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
    """Pods have addresses of the loopback network."""
    try:
        socket.create_server(("127.1.2.3", 0)).close()
    except OSError as err:
        reason = os.strerror(err.errno or 0)
        return Finding(
            "addresses", "limited", f"pods get no address of their own: {reason}", "sudo ip link set lo up"
        )
    return Finding("addresses", "ok", "pods get addresses of 127.0.0.0/8")


def podman(program: str | None = None) -> Finding:
    """Podman is needed for pods with `runtimeClassName: podman` alone."""
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
