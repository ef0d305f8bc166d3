"""The operator that test_kopf.py runs: it writes down on each object what it has seen of it."""

from __future__ import annotations

from typing import Any

import kopf

MINE = {"watched-by": "kopf"}


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    # A Job's status has no room for notes; annotations are what kopf offers for such kinds.
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage()


@kopf.on.create("batch", "v1", "jobs", labels=MINE)
def job_created(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    patch.metadata.annotations["seen/created"] = "yes"
    patch.spec["suspend"] = False
    kopf.event(body, type="Normal", reason="Seen", message="the operator saw a new Job")


@kopf.on.update("batch", "v1", "jobs", labels=MINE, field="spec.parallelism")
def job_changed(old: Any, new: Any, patch: kopf.Patch, **_: Any) -> None:
    patch.metadata.annotations["seen/parallelism"] = f"{old} to {new}"
    patch.status["active"] = new


@kopf.on.delete("batch", "v1", "jobs", labels=MINE)
def job_deleted(body: kopf.Body, **_: Any) -> None:
    kopf.event(body, type="Normal", reason="Farewell", message="the operator let the Job go")


@kopf.on.create("example.org", "v1", "boats")
def boat_created(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> dict[str, int]:
    patch.status["afloat"] = True
    return {"oars": spec["oars"]}


@kopf.on.update("example.org", "v1", "boats", field="spec.oars", retries=3, backoff=0.1)
def boat_changed(new: Any, retry: int, patch: kopf.Patch, **_: Any) -> None:
    if retry < 1:
        raise kopf.TemporaryError("not at the first try", delay=0.1)
    patch.status["oars"] = new


@kopf.on.delete("example.org", "v1", "boats")
def boat_deleted(body: kopf.Body, **_: Any) -> None:
    kopf.event(body, type="Normal", reason="Sunk", message="the boat is gone")


@kopf.timer("example.org", "v1", "boats", interval=0.2)
def boat_ticks(status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    patch.status["ticks"] = min(status.get("ticks", 0) + 1, 3)
