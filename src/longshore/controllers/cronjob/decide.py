"""The heart of the controller: a pure function from a view of a CronJob to a plan.

Three parts, in Kubernetes' order: delete finished Jobs beyond the history limits, bring the status up to
date with the Jobs there are (accounting.py), start what is due (due_run_start.py). The rules that fired are
in the plan, in words.
"""

from __future__ import annotations

from longshore.api import cron
from longshore.api.facts import owners
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.controllers.cronjob import accounting, due_run_start, history_limits, timing
from longshore.controllers.cronjob.draft import Draft
from longshore.controllers.scheduled import child
from longshore.controllers.scheduled.plan import Plan
from longshore.controllers.scheduled.view import Ask, View


def decide(view: View) -> Plan:
    """The next step for the CronJob. Call it again with the answers until the plan is final."""
    draft = Draft(_current(view), view.jobs)
    return _prune(view, draft) or accounting.account(view, draft) or due_run_start.start(view, draft)


def _current(view: View) -> Obj:
    """The CronJob as cached, or as it was read, if that knows of Jobs that the cached one does not."""
    live = view.answers.get(Ask("get", "CronJob", view.cronjob["metadata"]["name"]))
    if not isinstance(live, dict):
        return view.cronjob
    listed = {ref.get("uid") for ref in (live.get("status") or {}).get("active") or ()}
    unknown = accounting.unknown(view, Draft(view.cronjob, view.jobs))
    newer = any(job["metadata"]["uid"] in listed for job in unknown)
    return live if newer else view.cronjob


def _prune(view: View, draft: Draft) -> Plan | None:
    """Deletes finished Jobs. None once that is done, well or not: it never keeps a run from starting."""
    doomed = history_limits.excess(view, draft)
    if not doomed:
        return None
    unrecorded = _unrecorded(view, doomed)
    if unrecorded is None:
        return draft.prune(view, doomed)
    job, due = unrecorded
    return draft.prune(view, [each for each in doomed if each is not job]) or _record(draft, job, due)


def _unrecorded(view: View, jobs: list[Obj]) -> tuple[Obj, Instant] | None:
    """The Job of the run that is due now, and its time: longshore died before it could write down that it
    was started.

    Its name alone keeps that run from being started again, so it stays until the status knows of it. Another
    run of the same minute has the same name (`@every 20s`), and another scheduled time.
    """
    cronjob = view.cronjob
    try:
        spec = cronjob["spec"]
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
        due, _ = timing.of(view, cronjob, schedule).due()
    except (cron.ScheduleError, cron.NeverFires):
        return None
    if due is None or due == timing.last_schedule(cronjob):
        return None
    name = child.name(cronjob, due)
    for job in jobs:
        if job["metadata"]["name"] == name and owners.is_controlled_by(job, cronjob):
            at = due_run_start.scheduled_time(job)
            return (job, due) if at is None or at // SECOND == due // SECOND else None
    return None


def _record(draft: Draft, job: Obj, due: Instant) -> Plan | None:
    """Writes down that the run was started, where its start does not come to that: a suspended CronJob starts
    nothing, and nobody would look at it again. The next look deletes the Job."""
    if not draft.cronjob["spec"].get("suspend"):
        return None
    draft.last_schedule = rfc3339.from_instant(due)
    words = f"job {job['metadata']['name']} was started for a scheduled time that no status knows"
    return draft.plan("Recorded", words, look_again=0.0)
