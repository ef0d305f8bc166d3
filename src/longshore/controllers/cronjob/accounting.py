"""Updates the status from the CronJob's Jobs: which are still active, and when a run last succeeded."""

from __future__ import annotations

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.controllers.cronjob.draft import CronJobDraft, Outcome
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Answer, Ask, ScheduledView


def unknown(view: ScheduledView, draft: CronJobDraft) -> list[Obj]:
    """Running Jobs that are not on the active list. They were made by hand, or by longshore just before it
    died, or the cached CronJob is older than they are."""
    return [
        job
        for job, how in draft.jobs
        if how is None
        and not draft.is_active(job["metadata"]["uid"])
        and job["metadata"]["uid"] not in view.going
    ]


def account(view: ScheduledView, draft: CronJobDraft) -> ScheduledPlan | None:
    """Updates the draft. Returns a plan if an object must be read first, or could not be read."""
    strangers = unknown(view, draft)
    if strangers:
        ask = Ask("get", "CronJob", draft.cronjob["metadata"]["name"])
        if ask not in view.answers:
            return draft.plan("UnknownJobs", read=(ask,))
        answer = view.answers[ask]
        if isinstance(answer, Exception):
            return draft.plan("Unreadable", {"problem": str(answer)}, problem=answer)
        for job in strangers:
            name, uid = job["metadata"]["name"], job["metadata"]["uid"]
            draft.strangers.append(uid)
            # Upstream sends the Event at every sync, until the server limits its rate.
            tell = draft.because if uid in view.strangers else draft.announce
            tell("Stranger", job=name)
    for job, outcome in draft.jobs:
        if outcome is not None:
            _ended(draft, job, outcome)
    return _missing(view, draft)


def _ended(draft: CronJobDraft, job: Obj, outcome: Outcome) -> None:
    meta = job["metadata"]
    if draft.is_active(meta["uid"]):
        draft.drop(meta["uid"])
        draft.announce("JobEnded", job=meta["name"], outcome=outcome)
    if outcome == "Complete":
        at = (job.get("status") or {}).get("completionTime")
        if at is not None and (draft.last_success is None or at > draft.last_success):
            draft.last_success = at  # texts of one form, so they compare as times do


def _missing(view: ScheduledView, draft: CronJobDraft) -> ScheduledPlan | None:
    """Drops active Jobs that no longer exist. Asks the server, since the cache may lag behind."""
    if not draft.active:
        return None
    owned = {job["metadata"]["uid"] for job in view.jobs}
    unseen = [(ref, Ask("get", "Job", ref["name"])) for ref in draft.active if ref.get("uid") not in owned]
    if unasked := tuple(ask for _, ask in unseen if ask not in view.answers):
        return draft.plan("JobsNotSeen", read=unasked)
    for ref, ask in unseen:
        answer = view.answers[ask]
        if _is_gone(answer, ref):
            draft.announce("JobGone", job=ref["name"])
            draft.drop(ref.get("uid", ""))
        elif isinstance(answer, Exception):
            return draft.unreadable(ref["name"], answer)
    return None


def _is_gone(answer: Answer, ref: Obj) -> bool:
    """Whether the listed Job no longer exists. A Job of the same name with another UID is a different Job;
    upstream takes it for the listed one, and then waits for ever under Forbid."""
    if isinstance(answer, dict):
        return ref.get("uid") not in (None, answer["metadata"]["uid"])
    return isinstance(answer, StatusError) and answer.code == 404
