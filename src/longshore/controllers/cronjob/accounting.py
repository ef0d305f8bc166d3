"""Brings the status up to date with the Jobs there are: who is still active, when a run last succeeded."""

from __future__ import annotations

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.controllers.cronjob.draft import Draft
from longshore.controllers.cronjob.finished import Outcome
from longshore.controllers.scheduled.plan import Plan
from longshore.controllers.scheduled.view import Answer, Ask, View


def unknown(view: View, draft: Draft) -> list[Obj]:
    """Running Jobs that are not on the active list: made by hand, or by us just before we died, or the
    cached CronJob is older than they are."""
    return [
        job
        for job, how in draft.jobs
        if how is None
        and not draft.is_active(job["metadata"]["uid"])
        and job["metadata"]["uid"] not in view.going
    ]


def account(view: View, draft: Draft) -> Plan | None:
    """Changes the draft. A plan when something must be read first, or could not be."""
    strangers = unknown(view, draft)
    if strangers:
        ask = Ask("get", "CronJob", draft.cronjob["metadata"]["name"])
        if ask not in view.answers:
            words = "some Jobs are not on the active list: is there a newer one?"
            return draft.plan("UnknownJobs", words, read=(ask,))
        answer = view.answers[ask]
        if isinstance(answer, Exception):
            return draft.plan("Unreadable", f"the CronJob cannot be read: {answer}", problem=answer)
        for job in strangers:
            name, uid = job["metadata"]["name"], job["metadata"]["uid"]
            draft.strangers.append(uid)
            if uid not in view.strangers:  # upstream says so at every look, until nobody takes its events
                draft.warning(
                    "UnexpectedJob", f"Saw a job that the controller did not create or forgot: {name}"
                )
            draft.because(
                "Stranger", f"job {name} runs and was not started by the schedule: it is left alone"
            )
    for job, outcome in draft.jobs:
        if outcome is not None:
            _ended(draft, job, outcome)
    return _missing(view, draft)


def _ended(draft: Draft, job: Obj, outcome: Outcome) -> None:
    meta = job["metadata"]
    if draft.is_active(meta["uid"]):
        draft.drop(meta["uid"])
        draft.normal("SawCompletedJob", f"Saw completed job: {meta['name']}, condition: {outcome}")
        draft.because("JobEnded", f"job {meta['name']} has ended: {outcome}")
    if outcome == "Complete":
        at = (job.get("status") or {}).get("completionTime")
        if at is not None and (draft.last_success is None or at > draft.last_success):
            draft.last_success = at  # texts of one form, so they compare as times do


def _missing(view: View, draft: Draft) -> Plan | None:
    """Drops active Jobs that are gone. The cache alone is not believed: it may be slow."""
    if not draft.active:
        return None
    owned = {job["metadata"]["uid"] for job in view.jobs}
    unseen = [(ref, Ask("get", "Job", ref["name"])) for ref in draft.active if ref.get("uid") not in owned]
    if unasked := tuple(ask for _, ask in unseen if ask not in view.answers):
        words = "some active Jobs are not in the cache: are they gone?"
        return draft.plan("JobsNotSeen", words, read=unasked)
    for ref, ask in unseen:
        answer = view.answers[ask]
        if _is_gone(answer, ref):
            draft.normal("MissingJob", f"Active job went missing: {ref['name']}")
            draft.because("JobGone", f"active job {ref['name']} is gone")
            draft.drop(ref.get("uid", ""))
        elif isinstance(answer, Exception):
            return draft.plan("Unreadable", f"job {ref['name']} cannot be read: {answer}", problem=answer)
    return None


def _is_gone(answer: Answer, ref: Obj) -> bool:
    """Whether the Job on the list is not there. Upstream takes any Job of that name for it, and under Forbid
    waits for ever for one that was deleted and made again."""
    if isinstance(answer, dict):
        return ref.get("uid") not in (None, answer["metadata"]["uid"])
    return isinstance(answer, StatusError) and answer.code == 404
