"""Updates the status from the existing Jobs, and deletes finished Jobs beyond the history limits."""

from __future__ import annotations

from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, owners
from longshore.api.time import rfc3339
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.controllers.scheduled import child
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Ask, ScheduledView
from longshore.controllers.volcano.cronjob.draft import VolcanoCronJobDraft, end_time, ended

_LIMITS: Final = {"Completed": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}
"""The history limit of each phase. Terminated Jobs have none; they stay."""


def account(view: ScheduledView, draft: VolcanoCronJobDraft, due: Instant | None) -> ScheduledPlan | None:
    """Updates the draft. Returns a plan if an object must be read or deleted first, or could not be."""
    recorded = _record(draft, due)
    for job in draft.jobs:
        if phase := ended(job):
            _ended(draft, job, phase)
    return _prune(view, draft, recorded) or _strangers(view, draft) or _missing(view, draft)


def _record(draft: VolcanoCronJobDraft, due: Instant | None) -> str:
    """Records the Job of the run that is due, if it exists: longshore died before it could. Returns its name.

    Only the Job's name keeps that run from being started again, so it is not deleted before it is recorded.
    """
    if due is None or draft.last_schedule == rfc3339.from_instant(due):
        return ""
    name = child.name(draft.cronjob, due)
    for job in draft.jobs:
        if job["metadata"]["name"] == name:
            draft.last_schedule = rfc3339.from_instant(due)
            if not ended(job) and not draft.is_active(job["metadata"]["uid"]):
                draft.active.append(owners.object_ref(job, kinds.VOLCANO_JOBS))
            return name
    return ""


def _ended(draft: VolcanoCronJobDraft, job: Obj, phase: str) -> None:
    meta = job["metadata"]
    if draft.is_active(meta["uid"]):
        draft.drop(meta["uid"])
        draft.event("VolcanoJobEnded", job=meta["name"])
    at = end_time(job)
    if phase == "Completed" and at and (draft.last_success is None or at > draft.last_success):
        draft.last_success = at  # texts of one form, so they compare as times do


def _prune(view: ScheduledView, draft: VolcanoCronJobDraft, recorded: str) -> ScheduledPlan | None:
    """Deletes the oldest Jobs beyond the limits. Returns None when done, even after failures."""
    doomed: list[Obj] = []
    for phase, key in _LIMITS.items():
        limit = draft.cronjob["spec"].get(key)
        over = [job for job in draft.jobs if ended(job) == phase]
        over = [job for job in over if "deletionTimestamp" not in job["metadata"]]
        if limit is None or len(over) <= limit:
            continue
        over.sort(key=lambda job: (job["metadata"]["creationTimestamp"], job["metadata"]["name"]))
        doomed += [job for job in over[: len(over) - limit] if job["metadata"]["name"] != recorded]
    return draft.prune(view, doomed)


def _strangers(view: ScheduledView, draft: VolcanoCronJobDraft) -> ScheduledPlan | None:
    """Reports running Jobs of this CronJob that are not on its active list, and leaves them alone."""
    unknown = [j for j in draft.jobs if not ended(j) and not draft.is_active(j["metadata"]["uid"])]
    if not unknown:
        return None
    ask = Ask("get", "CronJob", draft.cronjob["metadata"]["name"])
    if ask not in view.answers:
        return draft.plan("UnknownJobs", read=(ask,))
    live = view.answers[ask]
    if not isinstance(live, dict):
        assert isinstance(live, Exception)
        return draft.plan("Unreadable", {"problem": str(live)}, problem=live)
    listed = {ref.get("uid") for ref in (live.get("status") or {}).get("active") or ()}
    for job in unknown:
        meta = job["metadata"]
        if meta["uid"] not in listed:
            draft.event("OrphanedJob", job=meta["name"], uid=meta["uid"])
    return None


def _missing(view: ScheduledView, draft: VolcanoCronJobDraft) -> ScheduledPlan | None:
    """Drops active Jobs that no longer exist. Asks the server, since the cache may lag behind."""
    owned = {job["metadata"]["uid"] for job in draft.jobs}
    unseen = [(ref, Ask("get", "Job", ref["name"])) for ref in draft.active if ref.get("uid") not in owned]
    if unasked := tuple(ask for _, ask in unseen if ask not in view.answers):
        return draft.plan("JobsNotSeen", read=unasked)
    for ref, ask in unseen:
        found, uid = view.answers[ask], ref.get("uid", "")
        if isinstance(found, StatusError) and found.code == 404:
            draft.event("StaleReference", job=ref["name"], uid=uid)
            draft.drop(uid)
        elif isinstance(found, Exception):
            return draft.unreadable(ref["name"], found)
        elif found is not None and found["metadata"]["uid"] != uid:
            draft.event("StaleReference", job=ref["name"], uid=uid, found=found["metadata"]["uid"])
            draft.drop(uid)
    return None
