"""One sync of a Job: handles requests in order, then delayed actions that are due, then does SyncJob. Pure.

Requests that need only SyncJob wait until the others are handled; one SyncJob then answers them all. So no
pod is created, and no trace of an event is lost, before the event is handled. After another action the sync
ends: the next one decides with fresh caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import kinds, volcano_job_state
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.time import durations
from longshore.api.time.backoff import Doubling
from longshore.controllers.volcano import names
from longshore.controllers.volcano.job.draft import FAILURES, VolcanoJobDraft
from longshore.controllers.volcano.job.kill import kill
from longshore.controllers.volcano.job.plan import ClaimMissing, Course, Delete, End, Refused
from longshore.controllers.volcano.job.pods import kill_selection, plugin_objects
from longshore.controllers.volcano.job.rules import policy, table
from longshore.controllers.volcano.job.rules.table import Kind
from longshore.controllers.volcano.job.sync_job import Synced, sync_job
from longshore.controllers.volcano.job.waking import intents, recovery
from longshore.controllers.volcano.job.waking.delays import Delayed
from longshore.controllers.volcano.job.waking.intents import Intent
from longshore.controllers.volcano.job.waking.job_requests import SYNC, JobRequest
from longshore.controllers.volcano.plugins import PluginError
from longshore.machinery.reasons import Reason

_NO_NOTES: Final[Mapping[str, str | None]] = {intents.LATER: None, intents.LEAVING: None}
RETRIES: Final = Doubling(0.005, 1000.0)
"""Delays after an error, doubling from 5 ms to 1000 s, as upstream."""
_JOB_ENDED: Final = Reason("NothingLeftToDo")
_OWN_REFUSALS: Final = (Refused, ClaimMissing, PluginError)


def course(draft: VolcanoJobDraft) -> Course[End]:
    """Decides the whole sync."""
    try:
        look_again = yield from _sync(draft)
    except _OWN_REFUSALS as err:
        return draft.end(RETRIES.after(draft.failures), err)
    except FAILURES as err:
        return draft.end(None, err)
    return draft.end(look_again)


def _sync(draft: VolcanoJobDraft) -> Course[float | None]:
    """Returns the seconds until the next sync."""
    requests = [*draft.view.requests]
    if "deletionTimestamp" in draft.job["metadata"]:
        draft.because("JobBeingDeleted")
        yield from _drop_commands(draft, requests)
        return None
    intent = intents.read(draft.job)
    if intent is not None:
        # Resuming the action also handles the request that began it.
        draft.left = [request for request in requests if not intent.answers(request)]
        yield from _resume(draft, intent)
        return 0.0
    if not draft.known:
        _look_back(draft, requests)
    if draft.view.unwritten:
        requests.append(SYNC)
    acted = yield from _answer(draft, requests)
    if acted or draft.left:
        return 0.0
    soonest = draft.delays.next()
    return None if soonest is None else max(soonest - draft.view.now, 0.0)


def _look_back(draft: VolcanoJobDraft, requests: list[JobRequest]) -> None:
    """Adds requests for changes that happened before this controller started. A restart is finished first:
    the Job handles later changes of its pods once it runs again."""
    if phase_of(draft.job) == names.RESTARTING:
        requests.append(SYNC)
        return
    for delayed in intents.read_later(draft.job):
        draft.delays.register(delayed)
    known = {*requests}
    requests += [request for request in recovery.missed(draft.view) if request not in known]
    draft.known = True


def _answer(draft: VolcanoJobDraft, requests: Sequence[JobRequest]) -> Course[bool]:
    """Handles the requests; returns whether an action, requested or delayed, was carried out."""
    for_sync: JobRequest | None = None
    for number, request in enumerate(requests):
        found = policy.match(draft.job, request)
        if found.delay:
            _delay(draft, request, found)
        elif found.action == names.SYNC_JOB and not request.command:
            for_sync = request
        else:
            draft.why.append(found.why)
            draft.left = [*requests[number + 1 :], *([for_sync] if for_sync else [])]
            yield from _attempt(draft, request, found.action)
            return True
    if draft.delays:
        draft.why += draft.delays.prune(draft.view.pods_by_name())
    due = _next_due(draft)
    draft.left = [for_sync] if for_sync else []
    if due is not None:
        draft.because("DelayedActionDue", action=due.action, event=due.request.event)
        yield from _execute(draft, due.action, due.request)
        return True
    yield from draft.annotate(_notes(draft))  # SyncJob changes the objects that these facts are read from
    draft.left = []
    if for_sync is not None and _ended(draft):
        draft.why.append(_JOB_ENDED)
    elif for_sync is not None:
        synced = yield from _attempt(draft, for_sync, names.SYNC_JOB)
        yield from _go_on(draft, synced)
    return False


def _go_on(draft: VolcanoJobDraft, synced: Synced) -> Course[None]:
    """Does SyncJob again if it changed the phase: at once if no other request arrived, missed changes are
    handled, and no pod was created or deleted that only the next view shows; otherwise in the next sync."""
    while synced.changed and not _ended(draft):
        if not (synced.still and draft.known) or draft.asked:
            draft.left.append(SYNC)
            return
        synced = yield from _attempt(draft, SYNC, names.SYNC_JOB)


def _ended(draft: VolcanoJobDraft) -> bool:
    return volcano_job_state.has_ended(draft.job) and not recovery.unfinished(draft.view)


def _delay(draft: VolcanoJobDraft, request: JobRequest, found: policy.Match) -> None:
    now = draft.view.now
    since = now if request.since is None else min(request.since, now)
    if draft.delays.register(Delayed(request, found.action, since + found.delay)):
        draft.why.append(found.why)
    after = durations.text(round(found.delay * 1e9))
    draft.event("ExecuteAction", action=found.action, after=after)


def _next_due(draft: VolcanoJobDraft) -> Delayed | None:
    """Returns the first delayed action that is due and belongs to this run of the Job."""
    version = (draft.job.get("status") or {}).get("version") or 0
    for delayed in draft.delays.due(draft.view.now):
        if delayed.request.version >= version:
            return delayed
        draft.delays.forget(delayed)
    return None


def _attempt(draft: VolcanoJobDraft, request: JobRequest, action: str) -> Course[Synced]:
    """Executes an action; terminates the Job after too many refusals."""
    try:
        try:
            if request.command and not (yield from _take(draft, request, action)):
                return Synced(changed=False)
            if action != names.SYNC_JOB:
                draft.event("ExecuteAction", action=action)
            synced = yield from _execute(draft, action, request)
        except FAILURES as err:
            if _is_refusal(err):
                draft.failures += 1
            if not _is_refusal(err) or not draft.view.limits.gives_up(draft.failures):
                raise
            draft.because("RetryLimitReached", action=action, refusals=draft.failures)
            draft.event("RetryLimitReached", action=action)
            synced = yield from _execute(draft, names.TERMINATE_JOB, request)
    except FAILURES:
        draft.left.insert(0, request)
        raise
    draft.failures = 0
    return synced


def _take(draft: VolcanoJobDraft, request: JobRequest, action: str) -> Course[bool]:
    """Deletes a Command, so that it is executed only once. Returns False if it was already deleted, or meant
    an earlier Job of this name."""
    if request.uid and request.uid != draft.job["metadata"]["uid"]:
        yield from _delete_command(draft, request)
        draft.because("EarlierJob", event=request.event, about=request.command)
        return False
    if table.step(phase_of(draft.job), action).decisive:
        yield from _intend(draft, action, request)
    if not (yield from _delete_command(draft, request)):
        yield from draft.annotate({intents.ACTION: None})
        draft.because("CommandGone", command=request.command)
        return False
    draft.event("CommandIssued", action=action)
    return True


def _delete_command(draft: VolcanoJobDraft, request: JobRequest) -> Course[bool]:
    """Deletes a Command. Returns whether it existed."""
    with errors.tolerated(404):
        yield from draft.one(Delete(kinds.COMMANDS, request.command))
        return True
    return False


def _drop_commands(draft: VolcanoJobDraft, requests: Sequence[JobRequest]) -> Course[None]:
    for number, request in enumerate(requests):
        if request.command:
            draft.left = [*requests[number:]]
            yield from _delete_command(draft, request)
    draft.left = []


# ---- actions


def _execute(
    draft: VolcanoJobDraft, action: str, request: JobRequest, *, again: bool = False
) -> Course[Synced]:
    """Executes an action. `again` if it was begun before: pods that are missing now were deleted by it."""
    phase = phase_of(draft.job)
    step = table.step(phase, action)
    draft.why.append(_doing(action, phase, step.kind))
    synced = Synced(changed=False)
    if step.kind is Kind.SYNC:
        synced = yield from sync_job(draft, step.then)
        if synced.changed and action != names.SYNC_JOB:
            draft.left.append(SYNC)
    else:
        selected = kill_selection.select(draft.view, step, action, request)
        if selected is None and again:
            selected = kill_selection.NOTHING_LEFT
        if selected is None:
            draft.because("NoSuchPartition")
            yield from draft.annotate({intents.ACTION: None})
        else:
            if step.decisive:
                yield from _intend(draft, action, request)
            yield from kill(draft, selected, step.then)
            if phase_of(draft.job) != phase:
                draft.left.append(SYNC)
    if action != names.SYNC_JOB:
        draft.delays.done(action, request)
        yield from _finish(draft)
    return synced


@lru_cache(maxsize=256)
def _doing(action: str, phase: str, kind: Kind) -> Reason:
    return Reason("Action", {"action": action, "phase": phase or "new", "kind": kind.value})


def _intend(draft: VolcanoJobDraft, action: str, request: JobRequest) -> Course[None]:
    """Records the action in an annotation before it starts, unless that is done already."""
    if intents.read(draft.job) is None:
        intent = intents.intend(draft.job, action, request, draft.view.group)
        yield from draft.annotate({intents.ACTION: intents.annotation(intent)})


def _resume(draft: VolcanoJobDraft, intent: Intent) -> Course[None]:
    """Resumes an action that was begun: all of it, or its end."""
    draft.because("GoesOn", action=intent.action)
    command = intent.request.command
    if command and (yield from draft.found(kinds.COMMANDS, command)) is not None:
        yield from _delete_command(draft, intent.request)
    if intent.undone(draft.job):
        yield from _execute(draft, intent.action, intent.request, again=True)
        return
    draft.left.append(SYNC)  # the sync that wrote the new phase died before its SyncJob
    group = draft.view.group
    whole = table.step(intent.phase, intent.action).kind is Kind.KILL
    if whole and group is not None and group["metadata"]["uid"] == intent.group:
        yield from plugin_objects.remove(draft, kinds.POD_GROUPS, group["metadata"]["name"], intent.group)
    yield from _finish(draft)


def _finish(draft: VolcanoJobDraft) -> Course[None]:
    """Removes the record of the finished action."""
    yield from draft.annotate({intents.ACTION: None, **_notes(draft)})


def _notes(draft: VolcanoJobDraft) -> Mapping[str, str | None]:
    """Returns annotations with facts that another controller could not read from the objects."""
    view = draft.view
    if not draft.delays and not any(
        view.is_going(pod) for pods in view.pods.values() for pod in pods.values()
    ):
        return _NO_NOTES
    uids = {pod["metadata"]["uid"] for pod in view.pods_by_name().values()}
    leaving = [
        request
        for request in recovery.leaving(view)
        if policy.match(draft.job, request).action != names.SYNC_JOB
    ]
    return {
        intents.LATER: intents.later_annotation(draft.delays.traceless(uids)),
        intents.LEAVING: intents.leaving_annotation(leaving),
    }


def _is_refusal(err: Exception) -> bool:
    """Whether the server or the Job refused; conflicts, throttling and server errors are no refusals."""
    if isinstance(err, StatusError):
        return err.code not in (409, 410, 429) and err.code < 500
    return isinstance(err, _OWN_REFUSALS)
