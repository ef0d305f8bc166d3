"""Pages of longshore itself for its own commands: `logs --failed`, `images`, `run` and `status`.

    GET /longshore/failed/namespaces/NS                 records of failed pods that were deleted, oldest first
    GET /longshore/failed/namespaces/NS/jobs/NAME       of a Job; also pods/NAME: of pods with that name
    GET /longshore/failed/logs/UID/CONTAINER/ATTEMPT    the lines of one run
    GET /longshore/images     the file and its state, the rows in force, the runtime of pods that name none
    GET /longshore/kept       how much is kept of what is over, beside its limits

A client that may read these paths (administrators, and others by a `nonResourceURLs` rule) may read them all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api.types import Obj

if TYPE_CHECKING:
    from longshore.api.retention import Retention
    from longshore.node.archive import Archive
    from longshore.node.images.images_file import ImagesFile
    from longshore.node.runtime_choice import RuntimeByImage
    from longshore.store import Store

FAILED: Final = "/longshore/failed/"
_KINDS: Final = {"jobs": "Job", "pods": "Pod"}
_MAX_LOG_BYTES: Final = 1 << 20
"""The most bytes of a log that are shown, from its end."""


def path(namespace: str, plural: str = "", name: str = "") -> str:
    return f"{FAILED}namespaces/{namespace}" + (f"/{plural}/{name}" if plural else "")


def log_path(uid: str, container: str, attempt: int) -> str:
    return f"{FAILED}logs/{uid}/{container}/{attempt}"


def failed_page(archive: Archive) -> Callable[[str], Obj | None]:
    """Makes the function that answers a path below `FAILED`."""

    def answer(rest: str) -> Obj | None:
        match rest.split("/"):
            case ["namespaces", namespace]:
                return {"kind": "FailedPods", "items": archive.of(namespace)}
            case ["namespaces", namespace, plural, name] if plural in _KINDS:
                return {"kind": "FailedPods", "items": archive.of(namespace, kind=_KINDS[plural], name=name)}
            case ["logs", uid, container, attempt] if attempt.isdigit():
                found = archive.log(uid, container, int(attempt))
                return {"kind": "Log", "text": _text(found)} if found is not None else None
        return None

    return answer


def _text(newest: Path) -> str:
    """The last lines of a log, without their timestamps."""
    raw = b""
    for file in (Path(f"{newest}.1"), newest):
        if file.exists():
            raw += file.read_bytes()
    out = []
    for line in raw[-_MAX_LOG_BYTES:].split(b"\n")[int(len(raw) > _MAX_LOG_BYTES) :]:
        parts = line.split(b" ", 3)
        if len(parts) == 4:
            out.append(parts[3] + (b"\n" if parts[2] == b"F" else b""))
    return b"".join(out).decode("utf-8", "replace")


IMAGES: Final = "/longshore/images"


def images_page(
    images: ImagesFile, runtime: str, by_image: RuntimeByImage | None
) -> Callable[[str], Obj | None]:
    """Makes the function that answers `IMAGES`. `runtime` is the default unless `by_image` chooses."""

    def answer(rest: str) -> Obj | None:
        if rest:
            return None
        rows = [msgspec.to_builtins(row) for row in images.table.rows]
        return {
            "kind": "Images",
            "file": str(images.path or ""),
            "problem": images.problem,
            "runtime": runtime if by_image is None or "podman" not in by_image.runtimes else "auto",
            "items": rows,
        }

    return answer


KEPT: Final = "/longshore/kept"


def kept_page(store: Store, limits: Retention) -> Callable[[str], Obj | None]:
    """Makes the function that says how many records are kept, how many may be, and for how long."""

    def answer(rest: str) -> Obj | None:
        if rest:
            return None
        return {
            "kind": "Kept",
            "events": _figure(store.counts().get("events", 0), limits.events, limits.event_age),
            "history": _figure(len(store.finished_jobs), limits.history, limits.history_age),
            "failed": _figure(len(store.failed_jobs), limits.history, limits.history_age),
            "reasons": _figure(len(store.reasons), limits.reasons, limits.reasons_age),
            "archive": {"limitBytes": limits.archive, "limit": limits.archive_pods},
        }

    return answer


def _figure(count: int, limit: int, age: float) -> Obj:
    return {"count": count, "limit": limit, "ageSeconds": age}
