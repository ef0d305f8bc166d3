"""The current tree of queues: parents, children and states, and how a missing queue is reported."""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.apiserver.admission.lookup import Get, List

QUEUES: Final = "scheduling.volcano.sh/queues"
ROOT: Final = "root"


def get_queue(get: Get, name: str) -> Obj | None:
    return get(QUEUES, "", name)


def children(every: List, name: str) -> list[Obj]:
    """The queues right below this one, by name."""
    return [queue for queue in every(QUEUES, "") if parent_of(queue) == name]


def parent_of(queue: Obj) -> str:
    parent: str = (queue.get("spec") or {}).get("parent") or ""
    return parent


def state_of(queue: Obj) -> str:
    state: str = (queue.get("status") or {}).get("state") or ""
    return state


def takes_work(queue: Obj) -> bool:
    """Whether the queue is open, or has no state yet: the queue controller opens a queue when it sees it."""
    return state_of(queue) in ("", "Open")


def not_found(name: str) -> str:
    """The message about a missing queue, in the words of the cache that Volcano's webhooks ask."""
    return f'queue.scheduling.volcano.sh "{name}" not found'
