"""The parameters of controllers, schedulers and nodes, beside a client."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api.metrics import Registry
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanations
from longshore.machinery.informers.shared import Informers
from longshore.plane import why_page

if TYPE_CHECKING:
    import random

    from longshore.api import cron
    from longshore.client import Client
    from longshore.controllers.volcano.plugins import KeyMaker
    from longshore.controllers.volume.directories import Directories
    from longshore.machinery.time.clock import Clock

_WHOLE: Final = (("v1", "Pod"), ("batch/v1", "Job"))
"""The job controller keeps these as a whole."""


class Wiring(msgspec.Struct, frozen=True):
    clock: Clock
    rng: random.Random
    informers: Informers
    """One watch of each resource for all of the process; each user takes `share()` of it."""
    zone: cron.Zone
    keys: KeyMaker
    ca: str = ""
    """PEM of the authority that signed the server's certificate."""
    volumes: Directories | None = None
    """Makes directories for claims; None where none can be made."""
    namespace: str = ""
    """Look after this namespace alone; empty for all."""
    managed_by: str = ""
    """Look after Jobs with this `spec.managedBy`; empty for those that are Kubernetes' own."""
    workers: int | None = None
    """Objects looked at side by side; None leaves it to each controller."""
    registry: Registry = msgspec.field(default_factory=Registry)
    explain: why_page.Reasons = msgspec.field(default_factory=why_page.Reasons)
    """Sources of reasons: each part that can explain itself adds itself here as it starts."""

    def context(
        self, client: Client, *, tells: Iterable[str] = (), adds: Iterable[str] = (), who: str = "controller"
    ) -> ControllerContext:
        """The context of one user. Its reasons are told, as `who`, with objects of these plurals: `tells` of
        all that it looks at, `adds` only of those that it did something about."""
        explanations = Explanations()
        for plural in tells:
            self.explain.tell(plural, who, explanations.of)
        for plural in adds:
            self.explain.add(plural, who, explanations.of)
        return ControllerContext(
            client,
            clock=self.clock,
            rng=self.rng,
            informers=self.informers.share(),
            registry=self.registry,
            explanations=explanations,
        )


def informers_of(
    client: Client, controllers: Collection[str], *, clock: Clock, rng: random.Random
) -> Informers:
    """The informers of a process that runs these controllers."""
    return Informers(client, clock=clock, rng=rng, whole=_WHOLE if "job" in controllers else ())
