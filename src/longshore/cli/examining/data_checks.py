"""Checks of the data directory: its owner, version, disk and certificates, and the machine's clock."""

from __future__ import annotations

import os
import stat
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from longshore.cli.examining.findings import Finding

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
