"""Validates a new PodGroup: its queue must be open."""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.api.validation.volcano import queue as volcano_queue
from longshore.apiserver.admission.lookup import Get, List
from longshore.apiserver.admission.volcano import queue_tree


def validate_create(spec: Obj, obj: Obj, get: Get, every: List) -> str:
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
