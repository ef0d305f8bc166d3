"""The Job of one scheduled time: its name and its body.

The name contains the scheduled time in minutes, and so serves as a lock: even after crashes and races, a
scheduled time has only one Job.
"""

from __future__ import annotations

from longshore.api import cron
from longshore.api.facts import owners
from longshore.api.facts.kinds import Kind
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj


def name(cronjob: Obj, at: Instant) -> str:
    return f"{cronjob['metadata']['name']}-{at // (60 * SECOND)}"


def body(cronjob: Obj, at: Instant, kind: Kind, annotation: str) -> Obj:
    """Returns the Job to create for a CronJob of this kind; `annotation` holds the scheduled time. Raises
    `cron.UnknownZone`, which `decide` has ruled out before."""
    spec = cronjob["spec"]
    template = spec["jobTemplate"]
    wanted = template.get("metadata") or {}
    zone = cron.load(spec.get("timeZone") or "")
    meta: Obj = {"name": name(cronjob, at), "namespace": cronjob["metadata"]["namespace"]}
    if wanted.get("labels"):
        meta["labels"] = wanted["labels"]
    meta["annotations"] = {**(wanted.get("annotations") or {}), annotation: rfc3339.in_zone(at, zone)}
    meta["ownerReferences"] = [owners.controller_ref(cronjob, kind)]
    return {"metadata": meta, "spec": template.get("spec") or {}}
