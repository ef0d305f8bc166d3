"""Checks of `longshore doctor`, each with one finding: of this machine (isolation of pods, limits, ports,
podman, programs), and of the data directory and the clock."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal, NamedTuple

State = Literal["ok", "limited", "broken", "absent"]
"""`limited`: longshore works, with less; `broken`: it does not work; `absent`: not there, and not needed."""


class Finding(NamedTuple):
    what: str
    state: State
    text: str
    help: str = ""
    """A command that repairs it, or a sentence that says how."""


def is_broken(findings: Sequence[Finding]) -> bool:
    return any(finding.state == "broken" for finding in findings)


def lines(findings: Sequence[Finding]) -> str:
    """One line for each finding, and one more if it has help."""
    width = max(len(finding.what) for finding in findings)
    out = []
    for finding in findings:
        out.append(f"{finding.state:<8} {finding.what:<{width}}  {finding.text}\n")
        if finding.help:
            out.append(f"{'':<8} {'':<{width}}  help: {finding.help}\n")
    return "".join(out)


_MIN_OPEN_FILES: Final = 4096
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
    if 0 <= soft < _MIN_OPEN_FILES:
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


# Checks of the data directory: its owner, version, disk and certificates, and the machine's clock.

_FULL_BYTES, _SCARCE_BYTES = 100 * 2**20, 2**30
_MAX_CLOCK_GAP: Final = timedelta(minutes=1)
_HEAD_BYTES: Final = 100
"""The size of SQLite's file header, with the user version at byte 60 and the application id at byte 68."""
_FIRST_YEAR: Final = 2025
"""A clock that shows an earlier year was never set."""


def directory(path: Path, uid: int) -> Finding:
    what = "data directory"
    if not path.exists():
        above = next(each for each in path.parents if each.exists())
        if not os.access(above, os.W_OK):
            help = "longshore up --data-dir DIR, or export LONGSHORE_HOME=DIR"
            return Finding(what, "broken", f"{path} cannot be made: {above} is not writable", help)
        return Finding(what, "ok", f"{path} is made by the first start")
    info = path.stat()
    if not stat.S_ISDIR(info.st_mode):
        return Finding(what, "broken", f"{path} is a file", "longshore up --data-dir DIR")
    if info.st_uid != uid:
        help = "longshore up --data-dir DIR, or log in as its owner"
        return Finding(what, "broken", f"{path} belongs to user id {info.st_uid}", help)
    if not os.access(path, os.W_OK | os.X_OK):
        return Finding(what, "broken", f"{path} is not writable", f"chmod u+rwx {path}")
    return Finding(what, "ok", str(path))


def version(path: Path) -> Finding:
    """Checks the schema of the journal, from the head of its file: a longshore that runs locks the rest."""
    from longshore.store import journal_schema, sql

    file, what = path / "journal.db", "data version"
    known = len(journal_schema.scripts(journal_schema.MIGRATIONS))
    if not file.exists():
        return Finding(what, "ok", f"no data yet; this longshore writes version {known}")
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError as err:
        return Finding(what, "broken", f"{file} cannot be read: {err.strerror}", f"ls -l {file}")
    found, made_by = (int.from_bytes(head[at : at + 4], "big", signed=True) for at in (60, 68))
    if made_by != sql.APPLICATION_ID:
        return Finding(what, "broken", f"{file} is not a longshore journal", "longshore up --data-dir DIR")
    if found > known:
        text = f"{found}, and this longshore knows {known}: a newer one wrote it"
        return Finding(what, "broken", text, "pip install --upgrade longshore")
    if found < known:
        return Finding(what, "ok", f"{found}; the next start brings it to {known}")
    return Finding(what, "ok", str(found))


def disk(path: Path, free: int | None = None) -> Finding:
    if free is None:
        there = next(each for each in (path, *path.parents) if each.exists())
        info = os.statvfs(there)
        free = info.f_bavail * info.f_frsize
    text = f"{free / 2**30:.1f} GiB free" if free >= _SCARCE_BYTES else f"{free // 2**20} MiB free"
    if free < _FULL_BYTES:
        return Finding("disk", "broken", f"{text} at {path}", f"du -xh {path} | sort -h | tail")
    if free < _SCARCE_BYTES:
        return Finding("disk", "limited", f"{text} at {path}", f"du -xh {path} | sort -h | tail")
    return Finding("disk", "ok", text)


def clock(path: Path, now: datetime) -> Finding:
    """Checks the clock: if it is behind the data, CronJobs would run twice and certificates be invalid."""
    if now.year < _FIRST_YEAR:
        return Finding("clock", "broken", f"it says {now:%Y-%m-%d}", "sudo timedatectl set-ntp true")
    newest = max(
        (_written(path / name) for name in ("journal.db", "journal.db-wal", "acknowledged")), default=0.0
    )
    gap = datetime.fromtimestamp(newest, now.tzinfo) - now
    if gap > _MAX_CLOCK_GAP:
        text = f"{_words(gap)} behind the last write to the data directory"
        return Finding("clock", "broken", text, "sudo timedatectl set-ntp true")
    return Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M:%S %Z}")


def _written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _words(gap: timedelta) -> str:
    minutes = int(gap.total_seconds() // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


def certificates(path: Path, now: datetime, running: bool) -> Finding:
    from longshore.up import certificates

    what, pki = "certificates", path / "pki"
    if not pki.exists():
        return Finding(what, "ok", "made by the first start")
    try:
        pairs = [certificates.load(pki / f"{name}.pem") for name in ("ca", "server", "admin")]
    except (OSError, ValueError) as err:
        return Finding(what, "broken", str(err), f"rm -r {pki}, then longshore up")
    ends = [pair.expires for pair in pairs if pair is not None]
    if len(ends) < len(pairs):
        return Finding(what, "ok", "some are missing; the next start makes them")
    left = min(ends) - now
    if left < timedelta(0):
        if running:
            return Finding(what, "broken", "expired", "longshore down, then longshore up")
        return Finding(what, "ok", "expired; the next start renews them")
    if left < timedelta(days=30) and running:
        text = f"expire in {left.days} days"
        return Finding(what, "limited", text, "longshore down, then longshore up: a start renews them")
    return Finding(what, "ok", f"valid until {min(ends):%Y-%m-%d}")


def server(path: Path, pid: int | None) -> Finding:
    """Checks whether a longshore runs on the directory, and answers."""
    from longshore.cli.main import Failure
    from longshore.cli.server.requests import Server
    from longshore.client.config.connection import from_kubeconfig
    from longshore.client.errors import ConfigError, Unreachable

    if pid is None:
        return Finding("server", "absent", "no longshore runs on this data directory", "longshore up")
    try:
        answer = Server(from_kubeconfig(path / "kubeconfig")).request("GET", "/readyz")
    except (ConfigError, Unreachable, Failure) as err:
        return Finding("server", "broken", f"process {pid} does not answer: {err}", "longshore down")
    if answer.code != 200:
        said = answer.body.decode(errors="replace").strip().splitlines()
        return Finding("server", "limited", f"process {pid} is not ready: {said[-1:]}", "longshore status")
    return Finding("server", "ok", f"process {pid} is ready")
