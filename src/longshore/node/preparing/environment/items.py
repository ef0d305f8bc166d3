"""`longshore.dev/items: /path`: a variable LONGSHORE_ITEM with one line of a file, the completion index's
own.

That is how `longshore run --each` hands out its input: a Job of 100,000 items is one file and one
annotation, and a pod costs a seek. The file is read once and kept; one that changes is read again.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from longshore.api.types import Obj
from longshore.node.preparing.types import CannotPrepare

ANNOTATION: Final = "longshore.dev/items"
VARIABLE: Final = "LONGSHORE_ITEM"
_INDEX: Final = "batch.kubernetes.io/job-completion-index"


def added(pod: Obj, variables: Mapping[str, str]) -> Mapping[str, str]:
    """`variables`, with the pod's item if it is to have one. Raises CannotPrepare when there is none."""
    annotations = pod["metadata"].get("annotations")
    if not annotations or ANNOTATION not in annotations:
        return variables
    path = annotations[ANNOTATION]
    try:
        info = os.stat(path)
        item = _lines(path, info.st_mtime_ns, info.st_size).line(int(annotations.get(_INDEX, "0")))
    except (OSError, ValueError, IndexError) as err:
        said = err.strerror if isinstance(err, OSError) else str(err)
        raise CannotPrepare("CreateContainerConfigError", f"no item in {path}: {said}") from None
    return {**variables, VARIABLE: item}


class _Lines:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._ends = array("Q")
        at = content.find(b"\n")
        while at >= 0:
            self._ends.append(at)
            at = content.find(b"\n", at + 1)
        if content and not content.endswith(b"\n"):
            self._ends.append(len(content))

    def line(self, index: int) -> str:
        if not 0 <= index < len(self._ends):
            raise IndexError(f"it has {len(self._ends)} lines, and this is index {index}")
        start = self._ends[index - 1] + 1 if index else 0
        return self._content[start : self._ends[index]].decode(errors="surrogateescape")


@lru_cache(maxsize=4)
def _lines(path: str, changed: int, size: int) -> _Lines:
    with open(path, "rb") as file:
        return _Lines(file.read())
