"""Deeds by which one object is taken for another, or not seen: second lives, new labels, lost sight."""

from __future__ import annotations

import random
from typing import Final

from simulation.scenario import Deed

LAST_SECONDS: Final = 100.0
"""The last deed is done by then, and sight is back before it gets calm."""


def drawn(seed: int, deeds: list[Deed]) -> list[Deed]:
    """What else is done in the scenario of a seed that has these deeds."""
    rng = random.Random(f"more deeds of {seed}")
    made = [deed for deed in deeds if deed.verb == "create" and deed.kind != "queue"]
    found: list[Deed] = []
    if rng.random() < 0.2:
        found += _second_life(rng, rng.choice(made))
    if rng.random() < 0.2:
        found.append(_lost_sight(rng, rng.choice(made)))
    jobs = [deed for deed in made if deed.kind == "job"]
    if jobs and rng.random() < 0.1:
        found.append(_relabelled(rng, rng.choice(jobs)))
    return found


def _second_life(rng: random.Random, first: Deed) -> list[Deed]:
    """An object is deleted, and another one takes its name."""
    soon = rng.random() < 0.5
    at = first.at + rng.uniform(0.0, 2.0) if soon else rng.uniform(first.at, LAST_SECONDS - 15.0)
    policy = rng.choice(("Background", "Background", "Foreground", "Orphan"))
    delete = Deed(at, "delete", first.kind, first.name, {"propagation": policy})
    later = at + rng.choice((0.0, 0.0, 0.05, 0.5, 3.0, 12.0))
    return [delete, Deed(later, "create", first.kind, first.name, first.body)]


def _lost_sight(rng: random.Random, target: Deed) -> Deed:
    """Controllers or schedulers are not told what happens to objects of one resource for some seconds."""
    before = rng.random() < 0.5  # then all that follows from the creation is missed
    at = max(target.at - rng.uniform(0.0, 2.0), 0.0) if before else rng.uniform(target.at, LAST_SECONDS)
    resources = {"gang": ("gang", "podgroup", "queue", "pod"), "cronjob": ("cronjob", "job", "pod")}
    kind = rng.choice(resources.get(target.kind, ("job", "pod")))
    who = rng.choice(("controllers", "controllers", "scheduler"))
    return Deed(at, "lose sight", kind, body={"who": who, "seconds": rng.choice((0.5, 5.0, 15.0))})


def _relabelled(rng: random.Random, target: Deed) -> Deed:
    """A pod of a Job gets a label that its Job does not select, for some seconds or for good."""
    at = rng.uniform(target.at, LAST_SECONDS - 15.0)
    body = {"nth": rng.randrange(4), "seconds": rng.choice((0.0, 0.1, 5.0, None))}
    return Deed(at, "relabel a pod", target.kind, target.name, body)
