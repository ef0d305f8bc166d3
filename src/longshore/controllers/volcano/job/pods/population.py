"""Which pods a Job lacks and which it has too many of. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from longshore.api.types import Obj
from longshore.controllers.volcano import plugins
from longshore.controllers.volcano.job.pods import building, tasks
from longshore.controllers.volcano.job.rules import dependencies
from longshore.controllers.volcano.job.status import Count
from longshore.controllers.volcano.job.view import View
from longshore.machinery.reasons import Reason

MAX_CREATED_PODS: Final = 1000
"""In one sync: a Job may ask for thousands of millions, and others take their turns meanwhile."""


class Population(msgspec.Struct, frozen=True):
    """The pods that a sync creates and deletes."""

    create: Sequence[tuple[str, Obj]] = ()
    """Tasks and bodies of new pods."""
    delete: Sequence[Obj] = ()
    count: Count = msgspec.field(default_factory=Count)
    """The pods that are there."""
    why: tuple[Reason, ...] = ()
    more: bool = False
    """Whether pods are missing that the next sync creates."""


def populate(view: View) -> Population:
    """The pods that are missing and those that are too many. Raises `plugins.PluginError`."""
    job = view.job
    count, create, delete, why = Count(), list[tuple[str, Obj]](), [], []
    more = False
    changed_by = plugins.enabled(job)
    for task in job["spec"].get("tasks") or ():
        name, wanted = task["name"], tasks.replicas(task)
        there, others = view.by_index(task)
        for _, pod in sorted(there.items()):
            if view.is_going(pod):
                count.going()
            else:
                count.add(name, pod)
                if tasks.marked(pod):
                    delete.append(pod)
        surplus = [pod for pod in others if not view.is_going(pod)]
        count.going(len(others) - len(surplus))
        delete += surplus
        if surplus:
            words = f"task {name!r} has {len(surplus)} pods too many"
            why.append(Reason("TooManyPods", words, {"pods": len(surplus)}))
        missing = wanted - len(there)
        if missing and (blocked := dependencies.waits_for(view, task)):
            why.append(Reason("TaskWaits", f"task {name!r} waits for {blocked}", {"pods": missing}))
        elif missing:
            some = min(missing, MAX_CREATED_PODS - len(create))
            more = more or some < missing
            words = f"task {name!r} lacks {missing} of {wanted} pods: creates "
            words += "them" if some == missing else f"{some} of them now"
            why.append(Reason("PodsCreated", words, {"pods": some, "replicas": wanted}))
            for index in islice((index for index in range(wanted) if index not in there), some):
                body = building.pod(job, task, index)
                for plugin in changed_by:
                    plugin.on_pod_create(body, job)
                create.append((name, body))
    return Population(create, delete, count, tuple(why), more)
