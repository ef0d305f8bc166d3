"""Features of Kubernetes that are alpha, and off unless a person turns them on. As upstream's feature gates,
they count for the whole process."""

from __future__ import annotations

from typing import Final

WORKLOADS: Final = "workloads"
"""Kubernetes' own gangs: Workload and PodGroup of scheduling.k8s.io, `spec.schedulingGroup` of pods."""

_on: Final[set[str]] = set()


def turn_on(name: str) -> None:
    _on.add(name)


def turn_off(name: str) -> None:
    _on.discard(name)


def is_on(name: str) -> bool:
    return name in _on
