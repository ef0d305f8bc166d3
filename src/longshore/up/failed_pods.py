"""The logs and records of failed pods that were deleted, for `longshore logs --failed`.

    GET /longshore/failed/namespaces/NS                   records, oldest first
    GET /longshore/failed/namespaces/NS/jobs/NAME         of a Job; also pods/NAME: of pods with that name
    GET /longshore/failed/logs/UID/CONTAINER/ATTEMPT      the lines of one run

Whoever may read these paths (administrators, and others by a `nonResourceURLs` rule) may read them all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longshore.api.types import Obj

if TYPE_CHECKING:
    from longshore.node.archive import Archive

PREFIX: Final = "/longshore/failed/"
_KINDS: Final = {"jobs": "Job", "pods": "Pod"}
_MAX_LOG_BYTES: Final = 1 << 20
"""Bytes of a log that are shown, from its end."""


def path(namespace: str, plural: str = "", name: str = "") -> str:
    return f"{PREFIX}namespaces/{namespace}" + (f"/{plural}/{name}" if plural else "")


def log_path(uid: str, container: str, attempt: int) -> str:
    return f"{PREFIX}logs/{uid}/{container}/{attempt}"


def page(archive: Archive) -> Callable[[str], Obj | None]:
    """The answer to a path below `PREFIX`."""

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
    """The last lines, without their timestamps."""
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
