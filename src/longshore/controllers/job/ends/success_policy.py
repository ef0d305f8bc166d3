"""successPolicy: decides whether the succeeded indexes are enough."""

from __future__ import annotations

from collections.abc import Sequence

from longshore.api import indexes
from longshore.api.indexes import Runs
from longshore.api.types import Obj


def met(rules: Sequence[Obj], completions: int, succeeded: Runs) -> int | None:
    """Returns the position of the first rule that is met; None if none is."""
    if not succeeded:
        return None
    for at, rule in enumerate(rules):
        if _is_met(rule, completions, succeeded):
            return at
    return None


def _is_met(rule: Obj, completions: int, succeeded: Runs) -> bool:
    count: int | None = rule.get("succeededCount")
    if (text := rule.get("succeededIndexes")) is None:
        return count is not None and indexes.count(succeeded) >= count
    listed = indexes.read(text, completions)
    if not listed:
        return False
    found = indexes.count(indexes.common(listed, succeeded))
    return found == indexes.count(listed) or (count is not None and found >= count)
