"""Gangs that a cycle need not decide on: none of their pods waits, and all reports about them are written.

Their amounts still count, so each gang is added once to its queue's sums, until something about it changes.
So a cycle costs as much as there is to decide, not as much as there is in the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping

from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key, key_of
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.sums import Sums
from longshore.scheduler.gang.model.task import BOUND, FAILED, RUNNING, SUCCEEDED, UNKNOWN

_AT_REST = frozenset((BOUND, RUNNING, SUCCEEDED, FAILED, UNKNOWN))


class Settled:
    """Settled gangs by key. A gang that is kept here is not changed any more."""

    def __init__(self) -> None:
        self._groups: dict[Key, tuple[Group, Obj]] = {}
        self._sums: dict[str, Sums] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._groups

    @property
    def groups(self) -> list[Group]:
        return [group for group, _ in self._groups.values()]

    @property
    def sums(self) -> Mapping[str, Sums]:
        """The amounts of settled gangs, by queue."""
        return self._sums

    def keep(self, group: Group, status: Obj) -> None:
        """Adds a gang. `status` is the last one written for it."""
        self.drop(group.key)
        self._groups[group.key] = group, status
        self._sums.setdefault(group.queue, Sums()).add(group)

    def is_like(self, obj: Obj) -> bool:
        """Whether the only change of a settled group is that it shows the status written for it."""
        known = self._groups.get(key_of(obj))
        if known is None:
            return False
        group, status = known
        before = group.obj
        spec, spec_before = obj.get("spec"), before.get("spec")
        return (
            obj["metadata"]["uid"] == group.uid
            and obj.get("status") == status
            and (spec is spec_before or spec == spec_before)
            and obj["metadata"].get("annotations") == before["metadata"].get("annotations")
        )

    def drop(self, key: Key) -> None:
        """Removes a gang that must be decided on again, or is gone."""
        known = self._groups.pop(key, None)
        if known is not None:
            group, _ = known
            sums = self._sums[group.queue]
            sums.subtract(group)
            if not sums.groups:
                del self._sums[group.queue]


def is_at_rest(group: Group) -> bool:
    """Whether a cycle has nothing to decide about the group until the group or one of its pods changes."""
    return group.phase not in ("", "Pending") and all(
        status in _AT_REST for status, count in group.counts.items() if count
    )
