"""Which aggregated ClusterRoles lack rules of the roles they select, or have rules of roles no more. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from longshore.api.selectors import labels
from longshore.api.types import Obj, encode
from longshore.machinery.reasons import Reason


class Plan(msgspec.Struct, frozen=True):
    """The rules that one aggregated role should have."""

    role: Obj
    rules: Sequence[Obj]
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Never set: every change comes as an event."""


def decide(roles: Iterable[Obj]) -> list[Plan]:
    """One plan for every aggregated role whose rules are not those of the roles it selects. A role that
    selects another aggregated one may have to be decided again once that one has changed."""
    by_name = sorted(roles, key=lambda role: str(role["metadata"]["name"]))
    plans = []
    for role in by_name:
        if "aggregationRule" not in role or "deletionTimestamp" in role["metadata"]:
            continue
        rules = _aggregated(role, by_name)
        if rules != (role.get("rules") or []):
            plans.append(
                Plan(role, rules, why=(Reason("RulesAggregated", f"has {len(rules)} rules of other roles"),))
            )
    return plans


def _aggregated(role: Obj, by_name: Sequence[Obj]) -> list[Obj]:
    """The rules of all selected roles but the role itself, each once."""
    rules: dict[bytes, Obj] = {}
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        matches = labels.from_selector(selector).matches
        for other in by_name:
            if other is not role and matches(other["metadata"].get("labels") or {}):
                rules.update((encode(rule), rule) for rule in other.get("rules") or ())
    return [*rules.values()]
