"""The best of several nodes, by upstream's scores and weights. Of equal nodes, the one known longest.

Each score is a whole number from 0 to 100, rounded down as upstream's: nodes that differ by less are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from longshore.api.facts import taints
from longshore.scheduler.amounts import CPU, MEMORY
from longshore.scheduler.fitting import affinity, spreading
from longshore.scheduler.fitting.affinity import NamespaceLabels
from longshore.scheduler.fitting.pod_shape import Pod, Shape
from longshore.scheduler.ledger import Node

_MAX_SCORE: Final = 100


class Weights(msgspec.Struct, frozen=True):
    """The weight of each score, with upstream's defaults."""

    emptiness: float = 1
    fullness: float = 0
    balance: float = 1
    node_affinity: float = 2
    pod_affinity: float = 2
    taints: float = 3
    spread: float = 2


UPSTREAMS: Final = Weights()


def best(pod: Pod, nodes: Sequence[Node], namespaces: NamespaceLabels) -> Node:
    """The node with the highest score; `nodes` must not be empty."""
    if len(nodes) == 1:
        return nodes[0]
    if only_resources_count(pod.shape, nodes) and not _any_affinity(nodes):
        return max(nodes, key=lambda node: _of_resources(pod, node))
    scored = scores(pod, nodes, namespaces)
    return max(nodes, key=lambda node: scored[node.name])


def scores(
    pod: Pod,
    nodes: Sequence[Node],
    namespaces: NamespaceLabels,
    *,
    indifferent: bool = False,
    weights: Weights = UPSTREAMS,
) -> dict[str, float]:
    """The sum of all scores, by node. `indifferent`: no pod on the nodes has an affinity."""
    shape = pod.shape
    total = {node.name: by_resources(pod, node, weights) for node in nodes}
    if shape.preferred:
        wanted = {
            node.name: sum(weight for weight, chooses in shape.preferred if chooses(node.labels, node.name))
            for node in nodes
        }
        _blend(total, _scaled(wanted), weights.node_affinity)
    if any(node.taints for node in nodes):
        disliked = {node.name: taints.disliked(node.taints, shape.tolerations) for node in nodes}
        _blend(total, _scaled({name: -count for name, count in disliked.items()}), weights.taints)
    if shape.affinity is not None or (not indifferent and _any_affinity(nodes)):
        _blend(total, _scaled(affinity.preference(pod, [*nodes], namespaces)), weights.pod_affinity)
    for spread in spreading.spreads(pod, nodes, required=False) if shape.spread else ():
        key = spread.constraint.topology
        counts = {node.name: -spread.counts.get(node.labels.get(key, ""), 0) for node in nodes}
        _blend(total, _scaled(counts), weights.spread)
    return total


def only_resources_count(shape: Shape, nodes: Iterable[Node]) -> bool:
    """Whether a pod of this shape has no preferences and the nodes no taints. Then a node's score does not
    depend on other nodes, unless pods with affinity exist."""
    return not shape.preferred and not shape.uses_labels and not any(node.taints for node in nodes)


def _any_affinity(nodes: Sequence[Node]) -> bool:
    return any(node.affine for node in nodes)


def _of_resources(pod: Pod, node: Node) -> float:
    """`by_resources`, cached on the node until its pods change."""
    score = node.scored.get(pod.shape)
    if score is None:
        score = node.scored[pod.shape] = by_resources(pod, node)
    return score


def by_resources(pod: Pod, node: Node, weights: Weights = UPSTREAMS) -> float:
    """The score of a node if only resources count (`only_resources_count`): emptier is better, and so are
    balanced cpu and memory."""
    cpu, all_cpu = node.compared_cpu + pod.shape.compared_cpu, node.allocatable.get(CPU, 0)
    memory, all_memory = node.compared_memory + pod.shape.compared_memory, node.allocatable.get(MEMORY, 0)
    cpu, memory = min(cpu, all_cpu), min(memory, all_memory)
    empty = (_part(all_cpu - cpu, all_cpu) + _part(all_memory - memory, all_memory)) // 2
    full = (_part(cpu, all_cpu) + _part(memory, all_memory)) // 2 if weights.fullness else 0
    apart = abs(_fraction(cpu, all_cpu) - _fraction(memory, all_memory)) / 2
    balanced = int(_MAX_SCORE * (1 - apart))
    return weights.emptiness * empty + weights.fullness * full + weights.balance * balanced


def _part(amount: int, all_: int) -> int:
    """The score for this amount out of all that the node has; 0 if the node has none of the resource."""
    return _MAX_SCORE * amount // all_ if all_ else 0


def _fraction(used: int, all_: int) -> float:
    return used / all_ if all_ else 1.0


def _scaled(counts: Mapping[str, int]) -> dict[str, int]:
    """Scales counts from 0 for the worst to 100 for the best; all 0 if they are equal."""
    low, high = min(counts.values()), max(counts.values())
    if low == high:
        return dict.fromkeys(counts, 0)
    return {name: _MAX_SCORE * (count - low) // (high - low) for name, count in counts.items()}


def _blend(total: dict[str, float], more: Mapping[str, int], weight: float) -> None:
    for name, score in more.items():
        total[name] += weight * score
