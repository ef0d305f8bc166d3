"""A new PodGroup: its queue must be open."""

from __future__ import annotations

from longshore.api import reads
from longshore.api.types import Obj
from longshore.api.validation.volcano import podgroup
from longshore.apiserver.admission.lookup import Get, List
from longshore.apiserver.admission.volcano import queue_tree


def _queued(new: reads.New) -> bool:
    return not validate_queue((new.obj.get("spec") or {}).get("queue", ""), new.get, new.every)


@reads.reads("cluster", again=_queued)
def validate_create(spec: Obj, obj: Obj, get: Get, every: List) -> str:
    """All that is wrong with a new PodGroup."""
    queue = validate_queue(spec.get("queue", ""), get, every)
    return "; ".join(text for text in (queue, podgroup.validate(spec)) if text)


def validate_queue(name: str, get: Get, every: List) -> str:
    """The problem with this queue."""
    if not name:
        return ""
    queue = queue_tree.get_queue(get, name)
    if queue is None:
        return f"unable to find queue: {queue_tree.not_found(name)}"
    state = queue_tree.state_of(queue)
    if state == "Open":
        return ""
    return f"can only submit PodGroup to queue with state `Open`, queue `{name}` status is `{state}`."
