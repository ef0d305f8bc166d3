"""`longshore.dev/items: /path`: variables with one item of a file, by completion index.

`longshore run --each` passes its input in this way: a Job of 100,000 items is one file and one annotation,
and a pod costs a seek. The file is read once, and again when it changes. `api/facts/run_items.py` names the
variables.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from longshore.api.facts import own_names, run_items
from longshore.api.facts.pod_state import COMPLETION_INDEX
from longshore.api.types import Obj
from longshore.node.preparing.types import CannotPrepare

_ENDS: Final = {"lines": b"\n", "records": b"\0"}


def added(pod: Obj, variables: Mapping[str, str], directory: Path | None) -> Mapping[str, str]:
    """`variables`, with the pod's item if the pod asks for one. Raises CannotPrepare if there is none. Items
    come only from files in `directory`, where `longshore run` keeps them: the pod's user may not read others.
    """
    annotations = pod["metadata"].get("annotations")
    if not annotations or own_names.ITEMS_FILE not in annotations:
        return variables
    path, kind = annotations[own_names.ITEMS_FILE], annotations.get(own_names.ITEMS_FORMAT, "lines")
    try:
        if kind not in _ENDS:
            raise ValueError(f"{own_names.ITEMS_FORMAT} is {kind!r}, and must be lines or records")
        if directory is None or os.path.dirname(os.path.realpath(path)) != os.path.realpath(directory):
            raise ValueError("longshore run has not written this file")
        info, index = os.stat(path), int(annotations.get(COMPLETION_INDEX, "0"))
        item = _items(path, _ENDS[kind], info.st_mtime_ns, info.st_size).item(index)
    except (OSError, ValueError, IndexError) as err:
        said = err.strerror if isinstance(err, OSError) else str(err)
        raise CannotPrepare("CreateContainerConfigError", f"no item in {path}: {said}") from None
    fields = item.split(run_items.FIELD_END) if kind == "records" else [item]
    return {**variables, **run_items.variables(fields, index)}


class _Items:
    """The offset at which each item of a file ends. Items end with `end`, which the last may lack."""

    def __init__(self, content: bytes, end: bytes) -> None:
        self._content = content
        self._ends = array("Q")
        at = content.find(end)
        while at >= 0:
            self._ends.append(at)
            at = content.find(end, at + 1)
        if content and not content.endswith(end):
            self._ends.append(len(content))

    def item(self, index: int) -> str:
        if not 0 <= index < len(self._ends):
            raise IndexError(f"it has {len(self._ends)} items, and this is index {index}")
        start = self._ends[index - 1] + 1 if index else 0
        return self._content[start : self._ends[index]].decode(errors="surrogateescape")


@lru_cache(maxsize=4)
def _items(path: str, end: bytes, changed: int, size: int) -> _Items:
    with open(path, "rb") as file:
        return _Items(file.read(), end)
