"""Reads how pods go from annotations of work, or of its pod templates. Raises ValueError for a bad one.

sim.longshore.dev/duration: 3m±20s
sim.longshore.dev/exit-codes: 0:0.95,1:0.05
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from longshore.api.facts.own_names import SIM_DURATION as DURATION
from longshore.api.facts.own_names import SIM_EXIT_CODES as EXIT_CODES
from longshore.api.types import Obj
from longshore.scripts import script_documents
from longshore.scripts.runs import Outcome, Run
from longshore.scripts.spreads import Spreading

_PLAIN_SECONDS: Final = re.compile(r"\d+(\.\d+)?")


def annotated(pod: Obj, seconds: float = 0.0) -> Outcome:
    """The outcome of a pod by its annotations; without a duration it takes `seconds`."""
    notes = _notes(pod["metadata"])
    length = _duration(notes[DURATION]) if DURATION in notes else seconds
    return script_documents.ending(Run(length), _shares(notes.get(EXIT_CODES, "0")))


def is_annotated(pod: Obj) -> bool:
    return bool(_notes(pod["metadata"]))


def spread(obj: Obj) -> None:
    """Copies annotations about simulation from work to its pod templates. The API refuses odd objects."""
    notes = _checked(obj, obj["metadata"], "metadata")
    for template in _templates(obj):
        meta = template.get("metadata") or {}
        if isinstance(meta, dict):
            _checked(obj, meta, "metadata of the pod template")
            given = meta.get("annotations") or {}
            if notes and isinstance(given, dict):
                template["metadata"] = {**meta, "annotations": {**notes, **given}}


def _duration(text: str) -> Spreading:
    return script_documents.duration(float(text) if _PLAIN_SECONDS.fullmatch(text) else text)


def _shares(text: str) -> dict[str, str]:
    """`0:0.95,1:0.05` as codes with their shares."""
    return {code: share or "1" for code, _, share in (part.partition(":") for part in text.split(","))}


def _notes(meta: Obj) -> dict[str, Any]:
    found = meta.get("annotations") or {}
    items = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in items if str(key).split("/")[0] == DURATION.split("/")[0]}


def _checked(obj: Obj, meta: Obj, where: str) -> dict[str, str]:
    """The annotations about the simulation. Raises ValueError for one that cannot be read."""
    notes = _notes(meta)
    for key, value in notes.items():
        try:
            if key not in (DURATION, EXIT_CODES):
                raise ValueError(f"there are {DURATION} and {EXIT_CODES}, and no others")
            if not isinstance(value, str):
                raise ValueError(f"{value!r} is no text: quote it")
            annotated({"metadata": {"annotations": {key: value}}})
        except ValueError as err:
            name = f"{obj['kind']} {obj['metadata'].get('name')}"
            raise ValueError(f"{name}: annotation {key} in {where}: {err}") from None
    return notes


def _templates(obj: Obj) -> Iterator[Obj]:
    """All pod templates of an object."""
    spec = obj.get("spec")
    if isinstance(spec, dict) and isinstance(spec.get("jobTemplate"), dict):
        spec = spec["jobTemplate"].get("spec")
    if not isinstance(spec, dict):
        return
    tasks = spec.get("tasks")
    for holder in tasks if tasks and isinstance(tasks, list) else [spec]:
        template = holder.get("template") if isinstance(holder, dict) else None
        if isinstance(template, dict) and "spec" in template:
            yield template
