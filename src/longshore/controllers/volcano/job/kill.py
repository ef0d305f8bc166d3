"""One kill of a Job, or of a part of it. Safe to repeat after a crash at any point. Pure.

Pods are marked before they are deleted, so that policies ignore their end. A pod that could not be marked
stays: its end would count as an eviction, for which a policy might kill the whole Job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.controllers.volcano import plugins
from longshore.controllers.volcano.job import status
from longshore.controllers.volcano.job.draft import VolcanoJobDraft, is_missing
from longshore.controllers.volcano.job.plan import Course, Patch, Refused
from longshore.controllers.volcano.job.pods import plugin_objects, tasks
from longshore.controllers.volcano.job.pods.kill_selection import Selection
from longshore.controllers.volcano.job.rules.table import Then
from longshore.controllers.volcano.job.sync_job import delete_pods
from longshore.controllers.volcano.names import OUT_OF_SYNC_MARK
from longshore.controllers.volcano.plugins import Plugin, PluginError

MARK: Final = [
    {
        "op": "add",
        "path": f"/metadata/annotations/{OUT_OF_SYNC_MARK.replace('/', '~1')}",
        "value": "true",
    }
]


def kill(draft: VolcanoJobDraft, selection: Selection, then: Then) -> Course[None]:
    """Deletes the selected pods, writes the Job's status, then deletes its PodGroup if the kill is whole."""
    draft.why.append(selection.why)
    unmarked = yield from _mark(draft, selection.delete)
    problems = [*unmarked.values()]
    problems += yield from delete_pods(
        draft, [pod for pod in selection.delete if pod["metadata"]["uid"] not in unmarked]
    )
    if problems:
        draft.event("PodNotDeleted", problems=" ".join(problems))
        raise Refused(f"failed to kill {len(problems)} pods of {selection.total}")
    end = status.killed(draft.job, selection, then, draft.view.now)
    if end.change is not None:
        draft.why.append(end.change.why)
    gone = yield from _remove_plugins(draft)
    yield from draft.write_status(status.with_markers(end.status, (), gone))
    if selection.whole and draft.view.group is not None:
        meta = draft.view.group["metadata"]
        yield from plugin_objects.remove(draft, kinds.POD_GROUPS, meta["name"], meta["uid"])
        draft.has_group(None)


def _mark(draft: VolcanoJobDraft, pods: Sequence[Obj]) -> Course[dict[str, str]]:
    """Marks pods. Returns the errors of pods that are neither marked nor gone, by UID."""
    metas = [pod["metadata"] for pod in pods if not tasks.marked(pod)]
    answers = yield from draft.do(tuple(Patch(kinds.PODS, meta["name"], MARK) for meta in metas))
    return {
        meta["uid"]: f"failed to mark pod {meta['name']}, err: {answer}"
        for meta, answer in zip(metas, answers, strict=True)
        if isinstance(answer, Exception) and not is_missing(answer)
    }


def _remove_plugins(draft: VolcanoJobDraft) -> Course[list[str]]:
    """Removes the objects of plugins. Returns the marks of those plugins."""
    controlled = (draft.job.get("status") or {}).get("controlledResources") or {}
    gone = []
    for plugin in _plugins(draft):
        mark = f"plugin-{plugin.name}"
        if mark in controlled:
            yield from plugin_objects.remove_all(draft, plugin)
            gone.append(mark)
    return gone


def _plugins(draft: VolcanoJobDraft) -> list[Plugin]:
    try:
        return plugins.enabled(draft.job)
    except PluginError:
        return []  # an unknown plugin has made nothing
