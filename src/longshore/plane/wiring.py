"""The parameters of controllers, schedulers and nodes, beside a client."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api.facts import kinds
from longshore.api.metrics import Registry
from longshore.client.protocol import Only
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.events.traffic import Traffic
from longshore.machinery.explanations import Explanation, Explanations, Tell
from longshore.machinery.informers.shared import Informers
from longshore.machinery.queues.key_gate import KeyGate
from longshore.machinery.queues.queue_metrics import QueueMetrics
from longshore.machinery.reason_book import Tellers, Untold
from longshore.machinery.work_limits import WorkLimits

if TYPE_CHECKING:
    import random

    from longshore.api import cron
    from longshore.client import Client
    from longshore.controllers.volcano.plugins import KeyMaker
    from longshore.controllers.volume.directories import Directories
    from longshore.machinery.time.clock import Clock
    from longshore.scheduler.gang.extending import Post

Waits = Callable[[str, str], Sequence[Explanation]]
"""From namespace and name to decisions, the latest last."""

_WHOLE: Final = {
    "job": (kinds.PODS, kinds.JOBS),
    "volcano-job": (kinds.PODS, kinds.VOLCANO_JOBS, kinds.POD_GROUPS),
}
"""By controller, the kinds that it keeps as a whole."""


class Shard(msgspec.Struct, frozen=True):
    """A part of all objects."""

    gate: KeyGate
    only: Only | None
    """The namespaces whose objects controllers hear of; None for all."""
    gauges: dict[str, QueueMetrics]
    """Measurements that the shards of one process share."""
    traffic: dict[str, Traffic]
    """By component, the way of events that they share."""


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
    gathers_ends: bool = False
    """Whether pods of a Job that succeed one after the other are counted once a second: each request goes
    over a network."""
    limits: WorkLimits = WorkLimits()
    """How much controllers do at a time."""
    registry: Registry = msgspec.field(default_factory=Registry)
    reasons: Tellers = msgspec.field(default_factory=Untold)
    """Where reasons are kept."""
    post: Post | None = None
    """Reaches the extenders of schedulers; None where other servers are none of this process's business."""
    waits: dict[str, Waits] = msgspec.field(default_factory=dict)
    """By kind, who can say what an object waits for right now, in numbers: schedulers, the Job controller."""
    keeps_records: bool = True
    """Whether somebody reads reasons that are past, and measurements of queues."""

    shard: Shard | None = None
    """The part of all objects that is looked after; None for all of them."""

    def context(self, client: Client, tell: Tell | None = None, *, name: str = "") -> ControllerContext:
        """The context of one user, whose new reasons go to `tell`; only the last look is remembered here.
        `name` is the controller's."""
        return ControllerContext(
            client,
            clock=self.clock,
            rng=self.rng,
            informers=self.informers.share()
            if self.shard is None
            else self.informers.share(self.shard.only, gradually=True),
            registry=self.registry,
            explanations=Explanations(tell if self.keeps_records else None, per_object=1),
            measures=self.keeps_records,
            name=name,
            limits=self.limits,
            gate=None if self.shard is None else self.shard.gate,
            gauges=None if self.shard is None else self.shard.gauges,
            traffic=None if self.shard is None else self.shard.traffic,
        )


def informers_of(
    client: Client,
    controllers: Collection[str],
    *,
    clock: Clock,
    rng: random.Random,
    resync: float | None = None,
) -> Informers:
    """The informers of a process that runs these controllers."""
    whole = [kind for controller, found in _WHOLE.items() if controller in controllers for kind in found]
    return Informers(client, clock=clock, rng=rng, resync=resync, whole=whole)
