"""The action SyncJob: PodGroup and plugins' objects first, then pods, then the status. Safe to repeat after a
crash at any point. Pure: yields the writes, and decides by their answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.types import Obj
from longshore.controllers.volcano import plugins
from longshore.controllers.volcano.job import status
from longshore.controllers.volcano.job.draft import VolcanoJobDraft, guarded, is_missing
from longshore.controllers.volcano.job.plan import Course, Create, Delete, Refused, Update
from longshore.controllers.volcano.job.pods import plugin_objects, podgroup, tasks
from longshore.controllers.volcano.job.pods.population import populate
from longshore.controllers.volcano.job.rules.table import Then
from longshore.controllers.volcano.job.status import PhaseCount
from longshore.controllers.volcano.job.waking.job_requests import SYNC
from longshore.controllers.volcano.names import FORWARDING, PENDING
from longshore.machinery.reasons import Reason

_GROUP_CREATED: Final = Reason("GroupCreated")
_COUNTERS_LATER: Final = Reason("CountersLater")


@lru_cache(maxsize=16)
def _gate_closed(phase: str) -> Reason:
    return Reason("GateClosed", {"phase": phase})


class Synced(NamedTuple):
    """The result of SyncJob."""

    changed: bool
    """Whether the phase has changed."""
    still: bool = False
    """Whether no pod was created or deleted, so that the view still shows the Job's pods."""


def sync_job(draft: VolcanoJobDraft, then: Then) -> Course[Synced]:
    """Updates PodGroup, plugins' objects and pods to the spec, then the status to the pods."""
    if "deletionTimestamp" in draft.job["metadata"]:
        draft.because("JobBeingDeleted")
        return Synced(changed=False)
    if draft.view.queue is None:
        queue = draft.job["spec"].get("queue")
        raise Refused(f'queue.scheduling.volcano.sh "{queue}" not found')
    yield from _forward(draft)
    if phase_of(draft.job) in ("", PENDING):
        yield from _initiate(draft)
    elif draft.job["spec"].get("plugins"):
        yield from _run_plugins(draft, starting=False)
    yield from guarded(draft, "PodGroupError", _pod_group(draft))
    _tell_of_group(draft)
    if not draft.view.gate_open:
        draft.why.append(_gate_closed(draft.view.group_phase or "new"))
        return Synced((yield from _conclude(draft, None, then)))
    population = populate(draft.view)
    draft.why += population.why
    if population.create:
        yield from _create(draft, population.create, population.count)
    if population.more:
        draft.left.append(SYNC)
    if population.delete:
        yield from _delete_surplus(draft, population.delete, population.count)
    still = not population.create and not population.delete
    return Synced((yield from _conclude(draft, population.count, then)), still)


def _forward(draft: VolcanoJobDraft) -> Course[None]:
    notes = draft.job["metadata"].get("annotations") or {}
    if ((draft.view.queue or {}).get("spec") or {}).get("extendClusters") and FORWARDING not in notes:
        yield from draft.annotate({FORWARDING: "true"})


def _initiate(draft: VolcanoJobDraft) -> Course[None]:
    if not phase_of(draft.job):
        first = draft.write_status(status.initial(draft.job, draft.view.now))
        yield from guarded(draft, "JobStatusError", first)
    if draft.job["spec"].get("plugins"):
        yield from _run_plugins(draft, starting=True)
    if draft.job["spec"].get("volumes"):
        yield from guarded(draft, "PVCError", _claims(draft))


def _claims(draft: VolcanoJobDraft) -> Course[None]:
    volumes, markers = yield from plugin_objects.claims(draft)
    spec = draft.job["spec"]
    if volumes != spec["volumes"]:
        kept = draft.job.get("status") or {}
        body = {**draft.job, "spec": {**spec, "volumes": volumes}}
        answer = yield from draft.one(Update(kinds.VOLCANO_JOBS, body))
        draft.is_now({**answer, "status": kept})
    _mark(draft, markers)


def _run_plugins(draft: VolcanoJobDraft, *, starting: bool) -> Course[None]:
    made = _plugins_objects(draft, starting=starting)
    yield from guarded(draft, "PluginError", made)


def _plugins_objects(draft: VolcanoJobDraft, *, starting: bool) -> Course[None]:
    for plugin in plugins.enabled(draft.job):
        controlled = (draft.job.get("status") or {}).get("controlledResources") or {}
        if starting and f"plugin-{plugin.name}" in controlled:
            continue
        for wanted in plugin.objects(draft.job):
            if starting or wanted.follows:
                yield from plugin_objects.ensure(draft, wanted)
        if starting and plugin.marked:
            _mark(draft, [(f"plugin-{plugin.name}", plugin.name)])


def _mark(draft: VolcanoJobDraft, markers: Sequence[tuple[str, str]]) -> None:
    """Adds controlled resources to the status; they are written with its next change."""
    marked = status.with_markers(draft.job.get("status") or {}, markers)
    draft.is_now({**draft.job, "status": marked})


def _pod_group(draft: VolcanoJobDraft) -> Course[None]:
    group, priorities, spec = draft.view.group, draft.view.priorities, draft.job["spec"]
    if group is None:
        draft.why.append(_GROUP_CREATED)
        group = yield from draft.one(Create(kinds.POD_GROUPS, podgroup.wanted(draft.job, priorities)))
        draft.has_group(group)
    elif not _go_together(draft, spec, group["spec"]):
        changed = podgroup.updated(group, draft.job, priorities)
        if changed is not None:
            draft.because("GroupUpdated")
            group = yield from draft.one(Update(kinds.POD_GROUPS, changed))
            draft.has_group(group)
    draft.grouped = spec, group["spec"], priorities


def _go_together(draft: VolcanoJobDraft, spec: Obj, group_spec: Obj) -> bool:
    """Whether these specs were already found to match."""
    known = draft.grouped
    return known is not None and known[0] is spec and known[1:] == (group_spec, draft.view.priorities)


def _tell_of_group(draft: VolcanoJobDraft) -> None:
    conditions = ((draft.view.group or {}).get("status") or {}).get("conditions") or ()
    true = [c for c in conditions if c.get("status") == "True"]
    if true:
        newest = max(true, key=lambda c: c.get("lastTransitionTime") or "")
        if newest.get("type") != "Scheduled":
            meta = draft.job["metadata"]
            draft.event(
                "PodGroupPending",
                namespace=meta["namespace"],
                name=meta["name"],
                condition=(newest.get("type") or "").lower(),
                message=newest.get("message") or "",
            )


def _create(draft: VolcanoJobDraft, wanted: Sequence[tuple[str, Obj]], count: PhaseCount) -> Course[None]:
    """Creates pods. Existing pods are no error, but count only once the cache shows them."""
    answers = yield from draft.do(tuple(Create(kinds.PODS, body) for _, body in wanted))
    problems = []
    for (task, body), answer in zip(wanted, answers, strict=True):
        if isinstance(answer, dict):
            count.add(task, answer)
        elif not (isinstance(answer, StatusError) and answer.reason == "AlreadyExists"):
            problems.append(f"failed to create pod {body['metadata']['name']}, err: {answer}")
    if problems:
        draft.event("PodNotCreated", problems=" ".join(problems))
        number = len(draft.job["spec"].get("tasks") or ())
        raise Refused(f"failed to create {len(problems)} pods of {number}: {problems[0]}")


def _delete_surplus(draft: VolcanoJobDraft, pods: Sequence[Obj], count: PhaseCount) -> Course[None]:
    problems = yield from delete_pods(draft, pods)
    count.going(len(pods) - len(problems))
    if problems:
        draft.event("PodNotDeleted", problems=" ".join(problems))
        raise Refused(f"failed to delete {len(problems)} pods of {len(pods)}")


def delete_pods(draft: VolcanoJobDraft, pods: Sequence[Obj]) -> Course[list[str]]:
    """Deletes pods. Returns the errors of pods that are neither terminating nor gone."""
    metas = [pod["metadata"] for pod in pods]
    answers = yield from draft.do(tuple(Delete(kinds.PODS, meta["name"], meta["uid"]) for meta in metas))
    return [
        f"failed to delete pod {meta['name']}, err: {answer}"
        for meta, answer in zip(metas, answers, strict=True)
        if isinstance(answer, Exception) and not is_missing(answer)
    ]


def _conclude(draft: VolcanoJobDraft, count: PhaseCount | None, then: Then) -> Course[bool]:
    """Writes the Job's status; returns whether the phase changed."""
    end = status.synced(draft.job, count, then, draft.view.now)
    if end is None:
        return False
    if end.change is not None:
        draft.why.append(end.change.why)
        yield from draft.write_status(end.status)
        return True
    if _can_wait(draft, end.status):
        draft.counters_later = True
        draft.why.append(_COUNTERS_LATER)
    else:
        yield from draft.write_status(end.status)
    return False


def _can_wait(draft: VolcanoJobDraft, new: Obj) -> bool:
    """Whether the status may be written later, together with the next change: only counters differ, no policy
    depends on them, and other Jobs wait for the worker."""
    return (
        not draft.unwritten
        and draft.view.busy
        and not tasks.any_policies(draft.job)
        and status.only_counts_differ(draft.job.get("status") or {}, new)
    )
