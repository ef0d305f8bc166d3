"""Finds aggregated ClusterRoles whose rules are not those of the roles they select. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from longshore.api.selectors import labels
from longshore.api.types import Obj, encode
from longshore.machinery.reasons import Reason


class AggregationPlan(msgspec.Struct, frozen=True):
    """The rules that one aggregated role should have."""

    role: Obj
    rules: Sequence[Obj]
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Always None: every change arrives as a watch event."""


def decide(roles: Iterable[Obj]) -> list[AggregationPlan]:
    """Returns a plan for every aggregated role whose rules are not those of the roles it selects.

    If a selected role is aggregated itself, the roles that it selects are followed; its own rules may be
    outdated, and two roles that select each other would otherwise wait for each other.
    """
    by_name = sorted(roles, key=lambda role: str(role["metadata"]["name"]))
    plans = []
    for role in by_name:
        if _is_aggregated(role):
            found: dict[bytes, Obj] = {}
            _gather(role, by_name, found, set())
            rules = [*found.values()]
            if rules != (role.get("rules") or []):
                why = Reason("RulesAggregated", {"rules": len(rules)})
                plans.append(AggregationPlan(role, rules, why=(why,)))
    return plans


def _is_aggregated(role: Obj) -> bool:
    return "aggregationRule" in role and "deletionTimestamp" not in role["metadata"]


def _gather(role: Obj, by_name: Sequence[Obj], rules: dict[bytes, Obj], seen: set[str]) -> None:
    """Adds the rules of all selected roles to `rules`, each rule once. Skips roles in `seen`."""
    seen.add(role["metadata"]["name"])
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        matches = labels.from_selector(selector).matches
        for other in by_name:
            meta = other["metadata"]
            if meta["name"] in seen or not matches(meta.get("labels") or {}):
                continue
            if _is_aggregated(other):
                _gather(other, by_name, rules, seen)
            else:
                rules.update((encode(rule), rule) for rule in other.get("rules") or ())
