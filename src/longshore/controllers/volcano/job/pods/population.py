"""Which pods a Job lacks and which it has too many of. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from longshore.api.types import Obj
from longshore.controllers.volcano import plugins
from longshore.controllers.volcano.job.pods import building, tasks
from longshore.controllers.volcano.job.rules import dependencies
from longshore.controllers.volcano.job.status import Count
from longshore.controllers.volcano.job.view import View
from longshore.controllers.volcano.names import pod_name
from longshore.machinery.reasons import Reason


class Population(msgspec.Struct, frozen=True):
    """The pods that a sync creates and deletes."""

    create: Sequence[tuple[str, Obj]] = ()
    """Tasks and bodies of new pods."""
    delete: Sequence[Obj] = ()
    count: Count = msgspec.field(default_factory=Count)
    """The pods that are there."""
    why: tuple[Reason, ...] = ()


def populate(view: View) -> Population:
    """The pods that are missing and those that are too many. Raises `plugins.PluginError`."""
    job = view.job
    count, create, delete, why = Count(), [], [], []
    changed_by = plugins.enabled(job)
    for task in job["spec"].get("tasks") or ():
        name = task["name"]
        there = dict(view.pods.get(name, {}))
        missing = []
        for index in range(tasks.replicas(task)):
            pod = there.pop(pod_name(job["metadata"]["name"], name, index), None)
            if pod is None:
                missing.append(index)
            elif view.is_going(pod):
                count.going()
            else:
                count.add(name, pod)
                if tasks.marked(pod):
                    delete.append(pod)
        surplus = [pod for pod in there.values() if not view.is_going(pod)]
        count.going(len(there) - len(surplus))
        delete += surplus
        if surplus:
            words = f"task {name!r} has {len(surplus)} pods too many"
            why.append(Reason("TooManyPods", words, {"pods": len(surplus)}))
        if missing and (blocked := dependencies.waits_for(view, task)):
            why.append(Reason("TaskWaits", f"task {name!r} waits for {blocked}", {"pods": len(missing)}))
        elif missing:
            wanted = tasks.replicas(task)
            words = f"task {name!r} lacks {len(missing)} of {wanted} pods: creates them"
            why.append(Reason("PodsCreated", words, {"pods": len(missing), "replicas": wanted}))
            for index in missing:
                body = building.pod(job, task, index)
                for plugin in changed_by:
                    plugin.on_pod_create(body, job)
                create.append((name, body))
    return Population(create, delete, count, tuple(why))
