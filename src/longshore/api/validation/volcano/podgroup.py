"""PodGroups: the highest tier of a network topology is named in one way only."""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.api.validation.volcano.tasks import TIERS, both_tiers


def validate(spec: Obj) -> str:
    """All that is wrong."""
    found = [f"{TIERS}."] if both_tiers(spec.get("networkTopology")) else []
    for policy in spec.get("subGroupPolicy") or ():
        if both_tiers(policy.get("networkTopology")):
            found.append(f"in subGroupPolicy '{policy.get('name', '')}': {TIERS}.")
    return " ".join(found)
