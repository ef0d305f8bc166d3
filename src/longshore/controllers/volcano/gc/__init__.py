"""Deletes Volcano Jobs some time after they ended."""

from __future__ import annotations

from functools import partial
from typing import Final

from longshore.api.facts import kinds
from longshore.controllers.expiring import loop
from longshore.controllers.expiring.dialect import Dialect
from longshore.controllers.volcano.gc.decide import READS, decide, wanted

DIALECT: Final = Dialect(
    "volcano-gc",
    kinds.VOLCANO_JOBS,
    component="vc-controller-manager",
    queue="volcano_gc",
    workers=1,
    reads=READS,
    wanted=wanted,
    decide=decide,
    harmless=(404, 409),  # gone, or replaced
)

run = partial(loop.run, DIALECT)

__all__ = ["DIALECT", "run"]
