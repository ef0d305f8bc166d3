"""Validates a new Volcano Job: its spec must be valid, and its queue must accept it."""

from __future__ import annotations

from functools import cache
from typing import Final

from longshore.api import label_syntax
from longshore.api.types import Obj
from longshore.api.validation.volcano import job
from longshore.api.validation.volcano import queue as volcano_queue
from longshore.apiserver.admission.lookup import Get, List
from longshore.apiserver.admission.volcano import queue_tree

_PLUGIN_GROUP: Final = "longshore.volcano_plugins"


def is_named_and_queued(obj: Obj, get: Get, every: List) -> bool:
    """Whether the names of the Job and of its pods are valid, and its queue accepts it."""
    name, spec = obj["metadata"]["name"], obj["spec"]
    listed = [f"{name}-{task.get('name', '')}-{index}" for index, task in enumerate(spec["tasks"])]
    if not all(map(label_syntax.is_qualified_name, (name, *listed))):
        return False
    return not _queue(spec.get("queue", ""), get, every)


def validate_create(spec: Obj, obj: Obj, get: Get, every: List) -> str:
    """The problems of a new Job; empty if there are none."""
    return job.validate(
        spec,
        obj["metadata"]["name"],
        queue=lambda name: _queue(name, get, every),
        known_plugin=lambda name: name in _added_plugins(),
    )


def _queue(name: str, get: Get, every: List) -> str:
    queue = queue_tree.get_queue(get, name)
    if queue is None:
        return f" unable to find job queue: {queue_tree.not_found(name)};"
    found = ""
    if not queue_tree.takes_work(queue):
        state = queue_tree.state_of(queue)
        found = f" can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
    if name == queue_tree.ROOT:
        return found + " can not submit job to root queue;"
    if below := queue_tree.children(every, name):
        found += f" can only submit job to leaf queue, queue `{name}` has {len(below)} child queues;"
    return found


@cache
def _added_plugins() -> frozenset[str]:
    """Job plugins that other packages bring; looked up only if a Job names one that is not Volcano's."""
    from importlib import metadata

    return frozenset(entry.name for entry in metadata.entry_points(group=_PLUGIN_GROUP))


# ---- Validates a new PodGroup: its queue must be open.


def validate_podgroup(spec: Obj, obj: Obj, get: Get, every: List) -> str:
    """The problems of a new PodGroup; empty if there are none."""
    queue = validate_queue(spec.get("queue", ""), get, every)
    return "; ".join(text for text in (queue, volcano_queue.validate_podgroup(spec)) if text)


def validate_queue(name: str, get: Get, every: List) -> str:
    """The problem with this queue; empty if there is none."""
    if not name:
        return ""
    queue = queue_tree.get_queue(get, name)
    if queue is None:
        return f"unable to find queue: {queue_tree.not_found(name)}"
    if queue_tree.takes_work(queue):
        return ""
    state = queue_tree.state_of(queue)
    return f"can only submit PodGroup to queue with state `Open`, queue `{name}` status is `{state}`."
