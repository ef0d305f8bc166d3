"""The cluster as a decision sees it: the live ledger, which is updated pod by pod."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from longshore.api.types import Obj
from longshore.scheduler.fitting.affinity import NamespaceLabels
from longshore.scheduler.fitting.pod_claims import Volumes
from longshore.scheduler.ledger import Ledger


class SchedulerView(msgspec.Struct, frozen=True):
    """Everything that a decision reads. It does not change during the decision."""

    ledger: Ledger
    volumes: Volumes
    namespaces: NamespaceLabels
    budgets: Iterable[Obj] = ()
