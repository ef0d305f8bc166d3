"""The network between nodes, as HyperNodes describe it: which nodes are near each other, and how near.

A HyperNode is a group of nodes, or of other HyperNodes; the lower its tier, the nearer they are. A gang with
a `networkTopology` is placed within one: of the lowest tier that fits and, in mode `hard`, not above the
highest tier allowed. Mode `hard` without a highest tier is only a preference, as in Volcano.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from longshore.api.selectors import labels
from longshore.api.structural import patterns
from longshore.api.types import Obj

_HARD: Final = "hard"


class HyperNode(NamedTuple):
    name: str
    tier: int
    nodes: frozenset[str]


class Wish(NamedTuple):
    """How near to each other the pods of a gang, or of a subgroup, must be."""

    strict: bool
    highest: int | None
    """The highest tier allowed; None for any."""
    highest_name: str


def wish_of(spec: Obj | None) -> Wish | None:
    """The wish in a `networkTopology`."""
    if not spec:
        return None
    highest, name = spec.get("highestTierAllowed"), spec.get("highestTierName") or ""
    named = highest is not None or bool(name)
    return Wish((spec.get("mode") or _HARD) == _HARD and named, highest, name)


class Topology:
    """The HyperNodes of one cycle, lowest tier first."""

    def __init__(self, objects: Iterable[Obj], nodes: Mapping[str, Mapping[str, str]]) -> None:
        """`nodes` are the labels of all nodes, by name."""
        by_name = {obj["metadata"]["name"]: obj.get("spec") or {} for obj in objects}
        self._tiers: dict[str, int] = {}
        """The highest tier with each tier name."""
        for spec in by_name.values():
            if name := spec.get("tierName"):
                self._tiers[name] = max(self._tiers.get(name, 0), spec.get("tier") or 0)
        found = [
            HyperNode(name, spec.get("tier") or 0, _nodes_of(name, by_name, nodes, frozenset()))
            for name, spec in by_name.items()
        ]
        self.hyper_nodes = sorted((each for each in found if each.nodes), key=lambda each: each[:2][::-1])

    def allowed(self, wish: Wish) -> list[HyperNode]:
        """The HyperNodes that a wish allows, lowest tier first."""
        highest = wish.highest
        if wish.highest_name:
            highest = self._tiers.get(wish.highest_name, -1)
        if highest is None or not wish.strict:
            return self.hyper_nodes
        return [each for each in self.hyper_nodes if each.tier <= highest]


def _nodes_of(
    name: str,
    by_name: Mapping[str, Obj],
    nodes: Mapping[str, Mapping[str, str]],
    above: frozenset[str],
) -> frozenset[str]:
    """All nodes in a HyperNode. A HyperNode that contains itself adds nothing."""
    found: set[str] = set()
    above |= {name}
    for member in by_name[name].get("members") or ():
        selector = member.get("selector") or {}
        if member.get("type") == "HyperNode":
            inner = {other: spec for other, spec in by_name.items() if other not in above}
            for other in _selected(selector, {each: {} for each in inner}):
                found |= _nodes_of(other, by_name, nodes, above)
        else:
            found.update(_selected(selector, nodes))
    return frozenset(found)


def _selected(selector: Obj, among: Mapping[str, Mapping[str, str]]) -> list[str]:
    if exact := selector.get("exactMatch"):
        return [exact["name"]] if exact.get("name") in among else []
    if regex := selector.get("regexMatch"):
        return [name for name in among if patterns.matches(regex.get("pattern") or "", name)]
    if selector.get("labelMatch") is not None:
        chosen = labels.from_unchecked(selector["labelMatch"])
        return [name for name, own in among.items() if chosen.matches(own)]
    return []
