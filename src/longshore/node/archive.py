"""Logs and exit records of failed pods, kept after the pods are deleted, so that the cause can be found a day
later.

A pod that failed leaves a directory with its logs and `record.json`. When the directories are too large or
too many, the oldest are removed. The last failed pod of each Job is removed after all other pods, so that a
Job with thousands of failures does not displace the logs of other Jobs. A pod that is killed because it was
deleted did not fail.

The index in memory is made from the files at the first read or the first failure.
"""

from __future__ import annotations

import heapq
import logging
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from longshore.api import types
from longshore.api.facts import pod_state
from longshore.api.retention import Retention
from longshore.api.time import rfc3339
from longshore.api.types import Obj

_RECORD: Final = "record.json"
_BY_REQUEST: Final = (137, 143)
"""Exit codes of containers that get SIGKILL or SIGTERM."""

log = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True):
    directory: Path
    namespace: str
    pod: str
    uid: str
    owners: tuple[tuple[str, str], ...]
    """Kind and name of each owner."""
    size: int


class Archive:
    """The archive in `directory`, which is created when it is needed. Several threads may use it."""

    def __init__(self, directory: Path, limits: Retention | None = None) -> None:
        self._directory = directory
        self._limits = limits or Retention()
        self._lock = threading.Lock()
        self._index: dict[str, _Kept] | None = None
        """Archived pods by uid, oldest first."""
        self._last: dict[tuple[str, str, str], _Kept] = {}
        """The last pod of each owner, by its namespace, kind and name."""
        self._others: list[tuple[str, str]] = []
        """A heap of all other pods: the directory's name, which begins with the time, and the uid."""
        self._size = 0

    def keep(self, pod: Obj, logs: Path, at: float) -> bool:
        """Moves the logs of a deleted pod here if it failed, and returns whether it did. `at` is the time."""
        if not failed(pod):
            return False
        meta = pod["metadata"]
        name = f"{int(at * 1000):013d}_{meta['namespace']}_{meta['name']}_{meta['uid']}"
        target = self._directory / name
        record = types.encode(record_of(pod, at))
        with self._lock:
            index = self._loaded()
            if meta["uid"] in index:
                return False
            try:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                if logs.is_dir():
                    logs.rename(target)
                    _drop_old_files(target)
                else:
                    target.mkdir(mode=0o750)
                (target / _RECORD).write_bytes(record)
            except OSError as problem:
                log.warning("the logs of failed pod %s could not be kept: %s", meta["name"], problem)
                return False
            self._add(index, target, types.decode(record))
            self._shrink(index)
        return True

    def of(self, namespace: str, *, kind: str = "", name: str = "", most: int = 500) -> list[Obj]:
        """Records of failed pods, oldest first: of a whole namespace, of one owner (`kind` Job), or of pods
        with this name (`kind` Pod). At most the `most` newest ones."""
        with self._lock:
            found = [kept for kept in self._loaded().values() if _fits(kept, namespace, kind, name)]
        records = []
        for kept in found[-most:]:
            record = _read(kept.directory)
            if record is not None:
                records.append(record)
        return records

    def log(self, uid: str, container: str, attempt: int) -> Path | None:
        """The newest file of the log of one run of a container; None when there is none."""
        with self._lock:
            kept = self._loaded().get(uid)
        if kept is None or "/" in container or container in ("", ".", ".."):
            return None
        path = kept.directory / container / f"{attempt}.log"
        return path if path.exists() or Path(f"{path}.1").exists() else None

    def _loaded(self) -> dict[str, _Kept]:
        if self._index is None:
            self._index = {}
            for directory in sorted(self._directory.iterdir()) if self._directory.is_dir() else ():
                record = _read(directory)
                if record is None:  # longshore died while it was kept
                    shutil.rmtree(directory, ignore_errors=True)
                else:
                    self._add(self._index, directory, record)
        return self._index

    def _add(self, index: dict[str, _Kept], directory: Path, record: Obj) -> None:
        size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
        owners = tuple((owner["kind"], owner["name"]) for owner in record["owners"])
        kept = _Kept(directory, record["namespace"], record["name"], record["uid"], owners, size)
        index[kept.uid] = kept
        self._size += size
        earlier: _Kept | None = kept
        if owners:
            owner = (kept.namespace, *owners[0])
            earlier, self._last[owner] = self._last.get(owner), kept
        if earlier is not None:
            heapq.heappush(self._others, (earlier.directory.name, earlier.uid))

    def _shrink(self, index: dict[str, _Kept]) -> None:
        while index and (self._size > self._limits.archive or len(index) > self._limits.archive_pods):
            if self._others:
                _, uid = heapq.heappop(self._others)
            else:
                uid = next(iter(index))
                kept = index[uid]
                del self._last[kept.namespace, *kept.owners[0]]
            oldest = index.pop(uid)
            self._size -= oldest.size
            shutil.rmtree(oldest.directory, ignore_errors=True)


def failed(pod: Obj) -> bool:
    """Whether the pod or a container failed, now or before a restart. A kill by a deletion is no failure."""
    status = pod.get("status") or {}
    deleted = "deletionTimestamp" in pod["metadata"]
    for entry in pod_state.statuses_of(pod):
        before = (entry.get("lastState") or {}).get("terminated") or {}
        if before.get("exitCode"):
            return True
        code = ((entry.get("state") or {}).get("terminated") or {}).get("exitCode")
        if code and not (deleted and code in _BY_REQUEST):
            return True
    return status.get("phase") == "Failed" and not deleted


def record_of(pod: Obj, at: float) -> Obj:
    """The record of a pod beside its logs."""

    meta, status = pod["metadata"], pod.get("status") or {}
    owners = [{key: o[key] for key in ("kind", "name", "uid")} for o in meta.get("ownerReferences") or ()]
    record: Obj = {
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "owners": owners,
        "node": (pod.get("spec") or {}).get("nodeName", ""),
        "created": meta.get("creationTimestamp"),
        "archived": rfc3339.from_seconds(at),
        "containers": [_run(entry) for entry in pod_state.statuses_of(pod)],
    }
    for key in ("phase", "reason", "message", "startTime"):
        if status.get(key):
            record[key] = status[key]
    index = (meta.get("annotations") or {}).get(pod_state.COMPLETION_INDEX) or ""
    is_number = index.isascii() and index.isdigit()  # anybody may annotate a pod
    return {**record, "index": int(index)} if is_number else record


def _run(entry: Obj) -> Obj:
    """The ends of a container's last runs. `attempt` is the run of the newest log."""
    out: Obj = {"name": entry["name"], "attempt": entry.get("restartCount") or 0}
    for part, key in (("state", "ended"), ("lastState", "endedBefore")):
        ended = (entry.get(part) or {}).get("terminated")
        if ended:
            out[key] = ended
    return out


def _fits(kept: _Kept, namespace: str, kind: str, name: str) -> bool:
    if kept.namespace != namespace:
        return False
    if kind == "Pod":
        return kept.pod == name
    return not kind or (kind, name) in kept.owners


def _read(directory: Path) -> Obj | None:
    try:
        record: Obj = types.decode((directory / _RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    return record


def _drop_old_files(directory: Path) -> None:
    """Removes all but the two newest files of each log: the last megabytes show why the pod failed."""
    for file in _files(directory):
        number = file.name.rpartition(".log.")[2]
        if number.isdigit() and int(number) > 1:
            file.unlink()


def _files(directory: Path) -> Iterable[Path]:
    return [file for file in directory.rglob("*.log.*") if file.is_file()]
