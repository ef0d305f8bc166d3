"""The labels that the server generates into a Job's template, and the other labels, which users set."""

from __future__ import annotations

from typing import Any, Final

from longshore.api.types import Obj

CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
JOB_NAME: Final = "batch.kubernetes.io/job-name"
LEGACY_CONTROLLER_UID: Final = "controller-uid"
LEGACY_JOB_NAME: Final = "job-name"
GENERATED: Final = frozenset((CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME))


def generated(meta: Obj) -> dict[str, str]:
    """The labels for the template of a Job with this metadata."""
    uid, name = meta["uid"], meta.get("name", "")
    return {CONTROLLER_UID: uid, JOB_NAME: name, LEGACY_CONTROLLER_UID: uid, LEGACY_JOB_NAME: name}


def users(spec: Obj) -> Obj:
    """The labels of a stored Job's template, without the generated ones."""
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    return {key: value for key, value in labels.items() if key not in GENERATED}


def has_generated(spec: Any) -> bool:
    """Whether the template of a spec that a client sent has generated labels already."""
    found = spec
    for step in ("template", "metadata", "labels"):
        found = found.get(step) if type(found) is dict else None
    return type(found) is dict and not GENERATED.isdisjoint(found)
