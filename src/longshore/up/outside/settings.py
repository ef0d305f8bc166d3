"""The options of `longshore controllers`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api.facts import own_names
from longshore.machinery.sharding.division import By
from longshore.machinery.work_limits import WorkLimits
from longshore.up.logs import Logging

if TYPE_CHECKING:
    from longshore.scheduler.gang.conf.conf_file import ConfFile

CONTROLLERS: Final = ("job",)
"""The controllers by default: every cluster already has the others."""
LEASE: Final = "longshore-controllers"
WEBHOOKS: Final = "longshore-webhooks"
WEBHOOKS_PORT: Final = 8443


class OutsideSettings(msgspec.Struct, frozen=True):
    kubeconfig: Path | None = None
    """None means the file that kubectl would take; in a pod without one, the pod's own account."""
    context: str = ""
    controllers: tuple[str, ...] = CONTROLLERS
    schedulers: tuple[str, ...] = ()
    """Names of schedulers to run; empty runs none."""
    scheduler_actions: tuple[str, ...] | None = None
    """The actions of a gang cycle; None means Volcano's own choice."""
    scheduler_conf: ConfFile | None = None
    """The file with all settings of gang cycles; None means those of Volcano's Helm chart."""
    managed_by: str = own_names.JOB_CONTROLLER
    namespace: str = ""
    """The only namespace to work in; empty for all."""
    logging: Logging = Logging()
    limits: WorkLimits = WorkLimits()
    """How much work controllers do at a time."""
    leader_elect: bool = True
    lease: str = LEASE
    lease_namespace: str = ""
    """Empty means the context's namespace; in a pod, the pod's."""
    shards: int = 0
    """The number of shards, whose replicas work at the same time; 0 for one leader."""
    shard_by: By = "namespace"
    qps: float = 0.0
    """Requests per second of this process, without renewals of Leases; 0 sets no limit."""
    burst: int = 0
    """Requests that may be sent at once before `qps` limits them."""
    keep_reasons: bool = False
    """Whether reasons are written as Events of the cluster, besides the Events of Kubernetes and Volcano."""
    webhooks: tuple[str, int] | None = None
    """Address and port of Volcano's webhooks; None serves none."""
    webhooks_name: str = WEBHOOKS
    """The name of the webhooks' Service, Secret, Lease and configurations."""
    metrics: tuple[str, int] | None = None
    """Address and port of the metrics; None serves none."""
