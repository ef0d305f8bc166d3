"""The parameters of controllers, schedulers and nodes, beside a client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from longshore.api.facts import kinds
from longshore.api.metrics import Registry
from longshore.client.projection import WHOLE
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.events.recorder import Hears
from longshore.machinery.explanations import Explanation, Explanations, Tell
from longshore.machinery.informers.informer import Informers
from longshore.machinery.reason_book import Tellers, Untold
from longshore.machinery.work_limits import WorkLimits

if TYPE_CHECKING:
    import random

    from longshore.api import cron
    from longshore.client import Client
    from longshore.controllers.volcano.plugins import KeyMaker
    from longshore.controllers.volume.act import Directories
    from longshore.machinery.time.clock import Clock

Waits = Callable[[str, str], Sequence[Explanation]]
"""Maps namespace and name of an object to decisions about it, the latest last."""

FOLLOWED_WHOLE: Final = dict.fromkeys((kinds.PODS, kinds.JOBS, kinds.VOLCANO_JOBS, kinds.POD_GROUPS), WHOLE)
"""The kinds that a process follows whole if it schedules pods or has the store: there, caches hold the
store's own objects."""


class Wiring(msgspec.Struct, frozen=True):
    clock: Clock
    rng: random.Random
    informers: Informers
    """The informers of the process, with one watch per resource; each user takes its `share()`."""
    zone: cron.Zone
    keys: KeyMaker
    ca: str = ""
    """PEM of the authority that signed the server's certificate."""
    volumes: Directories | None = None
    """Makes directories for claims; None if none can be made."""
    local_nodes: set[str] = msgspec.field(default_factory=set)
    """Names of the nodes that run in this process, and live as long as it does."""
    namespace: str = ""
    """The only namespace that controllers work on; empty for all."""
    managed_by: str = ""
    """Work on Jobs with this `spec.managedBy`; empty means Kubernetes' own Jobs."""
    gathers_ends: bool = False
    """Whether succeeded pods of a Job are counted only once a second, because each request goes over a
    network."""
    limits: WorkLimits = WorkLimits()
    """How much controllers do at a time, and how soon they retry."""
    registry: Registry = msgspec.field(default_factory=Registry)
    reasons: Tellers = msgspec.field(default_factory=Untold)
    """The place where reasons are recorded."""
    waits: dict[str, Waits] = msgspec.field(default_factory=dict)
    """By kind, the function of a scheduler or controller that says what an object waits for right now."""
    keeps_records: bool = True
    """Whether past reasons and queue metrics are kept in this process."""
    belongs: Callable[[Any], bool] | None = None
    """Whether the object of a key belongs to this process; None means that all do."""
    hears: Hears | None = None
    """Called with the Events of controllers, instead of storing them."""

    def context(
        self, client: Client, tell: Tell | None = None, *, name: str = "", workers: int = 0
    ) -> ControllerContext:
        """The context of one user. Its new reasons go to `tell`; per object, only the last sync is
        remembered. `name` and `workers` are the controller's."""
        return ControllerContext(
            client,
            clock=self.clock,
            rng=self.rng,
            informers=self.informers.share(),
            registry=self.registry,
            explanations=Explanations(tell if self.keeps_records else None, per_object=1),
            measures=self.keeps_records,
            name=name,
            workers=workers,
            limits=self.limits,
            belongs=self.belongs,
            hears=self.hears,
        )
