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
    """One plan for every aggregated role whose rules are not those of the roles it selects.

    Of a selected role that is aggregated itself, the rules of the roles that it selects count: the rules it
    has now may be those of yesterday, and of two roles that select each other each would wait for the other.
    """
    by_name = sorted(roles, key=lambda role: str(role["metadata"]["name"]))
    plans = []
    for role in by_name:
        if _is_aggregated(role):
            found: dict[bytes, Obj] = {}
            _gather(role, by_name, found, set())
            rules = [*found.values()]
            if rules != (role.get("rules") or []):
                why = Reason("RulesAggregated", f"has {len(rules)} rules of other roles")
                plans.append(Plan(role, rules, why=(why,)))
    return plans


def _is_aggregated(role: Obj) -> bool:
    return "aggregationRule" in role and "deletionTimestamp" not in role["metadata"]


def _gather(role: Obj, by_name: Sequence[Obj], rules: dict[bytes, Obj], seen: set[str]) -> None:
    """Adds the rules of all selected roles but those `seen`, each rule once."""
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
