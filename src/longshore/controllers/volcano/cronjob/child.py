"""The Job of one scheduled time. Its name follows from that time, so that no time is ever run twice."""

from __future__ import annotations

from typing import Final

from longshore.api import cron
from longshore.api.facts import kinds, owners, volcano_job_state
from longshore.api.time import instants, rfc3339
from longshore.api.time.instants import Instant
from longshore.api.types import Obj

SCHEDULED: Final = "volcano.sh/cronjob-scheduled-timestamp"


def name(cronjob: Obj, at: Instant) -> str:
    return f"{cronjob['metadata']['name']}-{at // (60 * instants.SECOND)}"


def body(cronjob: Obj, at: Instant) -> Obj:
    """The Job to create."""
    spec = cronjob["spec"]
    template = spec["jobTemplate"]
    wanted = template.get("metadata") or {}
    zone = cron.load(spec.get("timeZone") or "")
    meta: Obj = {"name": name(cronjob, at), "namespace": cronjob["metadata"]["namespace"]}
    if wanted.get("labels"):
        meta["labels"] = wanted["labels"]
    meta["annotations"] = {**(wanted.get("annotations") or {}), SCHEDULED: rfc3339.in_zone(at, zone)}
    meta["ownerReferences"] = [owners.controller_ref(cronjob, kinds.VOLCANO_CRON_JOBS)]
    return {"metadata": meta, "spec": template.get("spec") or {}}


def ended(job: Obj) -> str:
    """The phase in which the Job is over; empty while it is not."""
    return volcano_job_state.phase_of(job) if volcano_job_state.has_ended(job) else ""


def end_time(job: Obj) -> str:
    found: str = job["status"]["state"].get("lastTransitionTime") or ""
    return found
