"""Lines that all descriptions share: names, labels, annotations, times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from longshore.api.time import ages
from longshore.api.types import Obj

NONE: Final = "<none>"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATION_CHARACTERS: Final = 140


class Lines:
    """Text under construction. Each level is indented by two spaces."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def add(self, level: int, text: str) -> None:
        self._parts.append("  " * level + text + "\n")

    def pair(self, level: int, key: str, value: object) -> None:
        self.add(level, f"{key}:\t{value}")

    def several(self, title: str, values: Iterable[str]) -> None:
        """Adds the first value beside the title and the others under it; `<none>` if there is no value."""
        first = True
        for value in values:
            self._parts.append(f"{title}:\t{value}\n" if first else f"\t{value}\n")
            first = False
        if first:
            self._parts.append(f"{title}:\t{NONE}\n")

    def labels(self, title: str, labels: Mapping[str, str] | None) -> None:
        self.several(title, (f"{key}={value}" for key, value in sorted((labels or {}).items())))

    def annotations(self, title: str, annotations: Mapping[str, str] | None) -> None:
        shown = sorted((k, v) for k, v in (annotations or {}).items() if k != _LAST_APPLIED)
        self.several(title, (line for key, value in shown for line in _annotation(key, value)))

    def text(self) -> str:
        return "".join(self._parts)


def _annotation(key: str, value: str) -> list[str]:
    value = value.removesuffix("\n")
    if len(key) + len(value) + 2 < _MAX_ANNOTATION_CHARACTERS and "\n" not in value:
        return [f"{key}: {value}"]
    lines = value.split("\n")
    cut = [
        line
        if len(line) <= _MAX_ANNOTATION_CHARACTERS - 2
        else line[: _MAX_ANNOTATION_CHARACTERS - 2] + "..."
        for line in lines
    ]
    return [f"{key}:", *(f"  {line}" for line in cut)]


def head(lines: Lines, obj: Obj, *, namespaced: bool = True) -> None:
    lines.pair(0, "Name", obj["metadata"]["name"])
    if namespaced:
        lines.pair(0, "Namespace", obj["metadata"].get("namespace", ""))


def controlled_by(lines: Lines, obj: Obj) -> None:
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            lines.pair(0, "Controlled By", f"{owner['kind']}/{owner['name']}")


def when(timestamp: str | None) -> str:
    """A time such as `Tue, 01 Jun 2021 10:00:00 +0000`, in this machine's zone."""
    moment = ages.moment(timestamp)
    return ages.UNKNOWN if moment is None else moment.astimezone().strftime("%a, %d %b %Y %H:%M:%S %z")
