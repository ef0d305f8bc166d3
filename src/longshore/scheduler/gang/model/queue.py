"""A queue within one cycle, which alone changes it: what it may have, deserves and has."""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts


class Queue:
    """A queue and what a cycle knows of it."""

    def __init__(self, obj: Obj) -> None:
        spec = obj.get("spec") or {}
        self.obj, self.name = obj, str(obj["metadata"]["name"])
        self.weight: int = spec.get("weight") or 1
        self.priority: int = spec.get("priority") or 0
        self.parent: str = spec.get("parent") or ""
        self.capability = amounts.parse(spec.get("capability"))
        self.guarantee = amounts.parse((spec.get("guarantee") or {}).get("resource"))
        self.wished = amounts.parse(spec.get("deserved"))
        self.reclaimable: bool = spec.get("reclaimable") is not False
        self.open = ((obj.get("status") or {}).get("state") or "Open") == "Open"
        self.created: str = obj["metadata"]["creationTimestamp"]
        self.deserved: Amounts = {}
        self.limit: Amounts = {}
        """The most that the queue may have in total."""
        self.allocated: Amounts = {}
        self.releasing: Amounts = {}
        """The amounts of tasks that are being deleted."""
        self.reserved: Amounts = {}
        """The amounts of tasks without a node for which room was found once."""
        self.request: Amounts = {}
        self.inqueue: Amounts = {}
        self.elastic: Amounts = {}
