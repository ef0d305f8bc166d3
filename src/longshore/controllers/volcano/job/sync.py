"""One sync of a Job: PodGroup and plugins' objects first, then pods, then the status. Safe to repeat after a
crash anywhere. What becomes of the pods and of the phase, `decide.py` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Unreachable
from longshore.controllers.volcano import plugins
from longshore.controllers.volcano.job import decide, status
from longshore.controllers.volcano.job.act import AT_ONCE, Act, Refused, together
from longshore.controllers.volcano.job.pods import plugin_objects, podgroup, tasks
from longshore.controllers.volcano.job.rules.table import Then
from longshore.controllers.volcano.job.status import Count
from longshore.controllers.volcano.names import FORWARDING, PENDING


class Synced(NamedTuple):
    """What became of a sync."""

    changed: bool
    """Whether the phase is another one now."""
    still: bool = False
    """Whether the view shows the Job's pods as they were left: none was made or removed."""


async def sync(act: Act, then: Then) -> Synced:
    """Brings PodGroup, plugins' objects and pods up to the spec, and the status up to the pods."""
    if "deletionTimestamp" in act.job["metadata"]:
        act.why.append("the Job is being deleted")
        return Synced(changed=False)
    if act.view.queue is None:
        queue = act.job["spec"].get("queue")
        raise Refused(f'queue.scheduling.volcano.sh "{queue}" not found')
    await _forward(act)
    starting = phase_of(act.job) in ("", PENDING)
    if starting:
        await _initiate(act)
    else:
        await _run_plugins(act, starting=False)
    await act.guarded("PodGroupError", "Failed to create PodGroup, err: ", _pod_group(act))
    _tell_of_group(act)
    if not act.view.gate_open:
        act.why.append(f"the PodGroup is {act.view.group_phase or 'new'}: no pods are made yet")
        return Synced(await _conclude(act, None, then))
    population = decide.populate(act.view)
    act.why += population.why
    still = not population.create and not population.delete
    await _create(act, population.create, population.count)
    await _delete_surplus(act, population.delete, population.count)
    return Synced(await _conclude(act, population.count, then), still)


async def _forward(act: Act) -> None:
    notes = act.job["metadata"].get("annotations") or {}
    if ((act.view.queue or {}).get("spec") or {}).get("extendClusters") and FORWARDING not in notes:
        await act.annotate({FORWARDING: "true"})


async def _initiate(act: Act) -> None:
    if not phase_of(act.job):
        await act.guarded(
            "JobStatusError",
            "Failed to initialize job status, err: ",
            act.write_status(status.initial(act.job, act.now())),
        )
    await _run_plugins(act, starting=True)
    if act.job["spec"].get("volumes"):
        await act.guarded("PVCError", "Failed to create PVC, err: ", _claims(act))


async def _claims(act: Act) -> None:
    volumes, markers = await plugin_objects.claims(act.client, act.job)
    spec = act.job["spec"]
    if volumes != spec["volumes"]:
        kept = act.job.get("status") or {}
        body = {**act.job, "spec": {**spec, "volumes": volumes}}
        answer = await act.client.update(kinds.VOLCANO_JOBS, body, act.key[0])
        act.wrote_job({**answer, "status": kept})
    _mark(act, markers)


async def _run_plugins(act: Act, *, starting: bool) -> None:
    if act.job["spec"].get("plugins"):
        made = _plugins_objects(act, starting=starting)
        await act.guarded("PluginError", "Execute plugin when job add failed, err: ", made)


async def _plugins_objects(act: Act, *, starting: bool) -> None:
    for plugin in plugins.enabled(act.job):
        controlled = (act.job.get("status") or {}).get("controlledResources") or {}
        if starting and f"plugin-{plugin.name}" in controlled:
            continue
        for wanted in plugin.objects(act.job):
            if starting or wanted.follows:
                await plugin_objects.ensure(act.client, act.job, wanted, act.tools.keys)
        if starting and plugin.marked:
            _mark(act, [(f"plugin-{plugin.name}", plugin.name)])


def _mark(act: Act, markers: Sequence[tuple[str, str]]) -> None:
    """Notes what the Job controls; it is written with the next change of the status."""
    marked = status.with_markers(act.job.get("status") or {}, markers)
    act.view = act.view.having({**act.job, "status": marked}, act.view.group)


async def _pod_group(act: Act) -> None:
    namespace, group, priorities = act.key[0], act.view.group, act.view.priorities
    if group is None:
        wanted = podgroup.wanted(act.job, priorities)
        group = await act.client.create(kinds.POD_GROUPS, wanted, namespace)
        act.why.append("creates the PodGroup")
    else:
        known = act.remembered.grouped
        if known is not None and known[0] is act.job["spec"] and known[1:] == (group["spec"], priorities):
            return
        changed = podgroup.updated(group, act.job, priorities)
        if changed is None:
            act.remembered.grouped = act.job["spec"], group["spec"], priorities
            return
        group = await act.client.update(kinds.POD_GROUPS, changed, namespace)
        act.why.append("brings the PodGroup up to the spec")
    act.remembered.grouped = act.job["spec"], group["spec"], priorities
    act.wrote("podgroups", group)
    act.view = act.view.having(act.job, group)


def _tell_of_group(act: Act) -> None:
    conditions = ((act.view.group or {}).get("status") or {}).get("conditions") or ()
    true = [c for c in conditions if c.get("status") == "True"]
    if true:
        newest = max(true, key=lambda c: c.get("lastTransitionTime") or "")
        if newest.get("type") != "Scheduled":
            namespace, name = act.key
            kind = (newest.get("type") or "").lower()
            said = f"PodGroup {namespace}:{name} {kind}, reason: {newest.get('message') or ''}"
            act.event("Warning", "PodGroupPending", said)


async def _create(act: Act, wanted: Sequence[tuple[str, Obj]], count: Count) -> None:
    problems: list[str] = []
    for start in range(0, len(wanted), AT_ONCE):
        problems += await _create_some(act, wanted[start : start + AT_ONCE], count)
    if problems:
        act.event("Warning", "FailedCreate", f"Error creating pods: [{' '.join(problems)}]")
        number = len(act.job["spec"].get("tasks") or ())
        raise Refused(f"failed to create {len(problems)} pods of {number}")


async def _create_some(act: Act, wanted: Sequence[tuple[str, Obj]], count: Count) -> list[str]:
    """What went wrong. Pods that are there already are no problem, but count only once they are seen."""
    begun = rfc3339.seconds(act.job["metadata"]["creationTimestamp"])
    making = act.remembered.making
    making.update(body["metadata"]["name"] for _, body in wanted)
    answers = await act.client.create_together(kinds.PODS, [body for _, body in wanted], act.key[0])
    problems = []
    for (task, body), answer in zip(wanted, answers, strict=True):
        if isinstance(answer, StatusError | Unreachable):
            name = body["metadata"]["name"]
            if isinstance(answer, StatusError):
                making.discard(name)
            if not (isinstance(answer, StatusError) and answer.reason == "AlreadyExists"):
                problems.append(f"failed to create pod {name}, err: {answer}")
            continue
        act.wrote("pods", answer)
        count.add(task, answer)
        act.tools.metrics.pod_created((act.now() - begun) * 1000)
    return problems


async def _delete_surplus(act: Act, pods: Sequence[Obj], count: Count) -> None:
    problems = await together(act.delete_pod, pods)
    count.going(len(pods) - len(problems))
    if not count.counters["terminating"]:
        del count.counters["terminating"]
    if problems:
        act.event("Warning", "FailedDelete", f"Error deleting pods: [{' '.join(problems)}]")
        raise Refused(f"failed to delete {len(problems)} pods of {len(pods)}")


async def _conclude(act: Act, count: Count | None, then: Then) -> bool:
    """Writes down what the Job is now; whether that is another phase than before."""
    end = decide.concluded(act.job, count, then, act.now())
    act.why += end.why
    if end.status is None:
        return False
    if end.change is None:
        if _can_wait(act, end.status):
            act.tools.owing.add(act.key)
            act.why.append("others wait for their turn: the counters are written later")
        else:
            await act.write_status(end.status)
        return False
    act.tools.metrics.changed(act.job, end.change.phase)
    await act.write_status(end.status)
    return True


def _can_wait(act: Act, new: Obj) -> bool:
    """Whether a status may be written a little later, together with what comes next: it only counts pods,
    nobody has to be told of one that vanishes meanwhile, and there is more urgent work."""
    return (
        act.key not in act.tools.owing
        and act.tools.owing.busy(act.key)
        and not tasks.any_policies(act.job)
        and status.only_counts_differ(act.job.get("status") or {}, new)
    )
