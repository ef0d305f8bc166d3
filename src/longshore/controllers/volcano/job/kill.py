"""One kill of a Job, or of a part of it. Safe to repeat after a crash anywhere.

Pods are marked before they go, so that their end is no news to policies. Which pods go, `decide.py` says.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import PatchType, Unreachable
from longshore.controllers.volcano import plugins
from longshore.controllers.volcano.job import decide, status
from longshore.controllers.volcano.job.act import Act, Refused, together
from longshore.controllers.volcano.job.decide import Selection
from longshore.controllers.volcano.job.pods import plugin_objects, tasks
from longshore.controllers.volcano.job.rules.table import Then
from longshore.controllers.volcano.names import OUT_OF_SYNC_MARK
from longshore.controllers.volcano.plugins import Plugin, PluginError

_MARK: Final = [
    {
        "op": "add",
        "path": f"/metadata/annotations/{OUT_OF_SYNC_MARK.replace('/', '~1')}",
        "value": "true",
    }
]


async def kill(act: Act, selection: Selection, then: Then) -> None:
    """Removes the selected pods, then writes down what the Job is now, then lets go of its PodGroup."""
    act.why += selection.why
    unmarked = [pod for pod in selection.delete if not tasks.marked(pod)]
    problems = await together(partial(_mark, act), unmarked)
    problems += await together(act.delete_pod, selection.delete)
    if problems:
        act.event("Warning", "FailedDelete", f"Error deleting pods: [{' '.join(problems)}]")
        raise Refused(f"failed to kill {len(problems)} pods of {selection.total}")
    end = decide.killed(act.job, selection, then, act.now())
    act.why += end.why
    assert end.status is not None
    gone = await _remove_plugins(act)
    if end.change is not None:
        act.tools.metrics.changed(act.job, end.change.phase)
    await act.write_status(status.with_markers(end.status, (), gone))
    if selection.whole:
        await act.let_go()


async def _mark(act: Act, pod: Obj) -> str:
    """What went wrong; empty when the pod is marked, or gone."""
    meta = pod["metadata"]
    try:
        act.wrote(
            "pods",
            await act.client.patch(kinds.PODS, meta["name"], _MARK, act.key[0], type=PatchType.JSON),
        )
    except (StatusError, Unreachable) as err:
        if not (isinstance(err, StatusError) and err.code == 404):
            return f"failed to mark pod {meta['name']}, err: {err}"
    return ""


async def _remove_plugins(act: Act) -> list[str]:
    """The marks of those whose objects are gone now."""
    controlled = (act.job.get("status") or {}).get("controlledResources") or {}
    gone = []
    for plugin in _plugins(act):
        mark = f"plugin-{plugin.name}"
        if mark in controlled:
            await plugin_objects.remove_all(act.client, act.job, plugin)
            gone.append(mark)
    return gone


def _plugins(act: Act) -> list[Plugin]:
    try:
        return plugins.enabled(act.job)
    except PluginError:
        return []  # one that nobody knows has made nothing
