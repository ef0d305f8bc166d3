"""How pods go in a run: by dice that depend on the seed, the object and how many of its pods ran before.

Pods of a gang keep their names, so each has dice of its own: in which order they start decides nothing.
"""

from __future__ import annotations

import random
from collections import Counter

from longshore.node.runtime import Container
from longshore.testing import Run
from simulation.scenario import GANG_PREFIX

_SECONDS = (0.2, 1.0, 3.0, 12.0, 25.0)
_EXIT_CODES = (0, 0, 0, 0, 1, 7, 42)


class Outcomes:
    """A script for a `ScriptedMachine`. An object left out of a scenario changes nothing for others."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._ran: Counter[str] = Counter()

    def __call__(self, container: Container) -> Run:
        if container.key.container != "main":
            return self._helper(container)
        owner = container.pod.partition("-")[0]
        who = container.pod if owner.startswith(GANG_PREFIX) else owner
        self._ran[who] += 1
        rng = random.Random(f"outcome {self._seed} {who} {self._ran[who]}")
        seconds = rng.choice(_SECONDS) + rng.random() / 8
        on_term = rng.choice((0.0, 0.5, 8.0, None))
        return Run(seconds=seconds, code=rng.choice(_EXIT_CODES), on_term=on_term)

    def _helper(self, container: Container) -> Run:
        """How a container goes that comes before the main one, or runs beside it."""
        key = container.key
        rng = random.Random(f"helper {self._seed} {container.pod} {key.container} {key.attempt}")
        if key.container == "beside":
            is_weak = rng.random() < 0.3
            on_term = rng.choice((0.0, 0.5, None))
            return Run(seconds=1.0, code=1) if is_weak else Run.forever(on_term=on_term)
        return Run(seconds=rng.choice(_SECONDS[:3]), code=rng.choice((0, 0, 0, 0, 0, 0, 7)))
