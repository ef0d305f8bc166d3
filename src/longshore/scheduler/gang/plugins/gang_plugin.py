"""The hooks of a plugin. By default a hook is None, or abstains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.ledger import Node

if TYPE_CHECKING:
    from longshore.scheduler.gang.preempt_and_reclaim import Claim
    from longshore.scheduler.gang.trying.trial import Trial

PERMIT: Final = 1
ABSTAIN: Final = 0
REJECT: Final = -1
Owned: TypeAlias = tuple[Group, Task]
Place: TypeAlias = tuple[Any, ...]
"""The sort key of a gang or queue among others; no two are equal."""
Filter: TypeAlias = Callable[[Task, Node], str]
"""Returns why the task may not be on the node; empty if it may."""
Score: TypeAlias = Callable[[Task, Node], float]


class GangPlugin:
    """One plugin in one cycle."""

    filter_node: Filter | None = None
    """Called at `enablePredicate`."""
    score_node: Score | None = None
    """Called at `enableNodeOrder`."""
    removal_code: ClassVar[str] = "Evicts"
    """The code of the reason why the action `shuffle` removes the tasks that `removals` names."""

    def __init__(self, conf: Plugin, trial: Trial) -> None:
        self.conf, self.trial = conf, trial

    def job_order(self, group: Group) -> float:
        """The sort key of a gang: the smallest comes first (`enableJobOrder`)."""
        return 0.0

    def queue_order(self) -> Callable[[Queue], Place] | None:
        """A function that returns the sort key of a queue (`enableQueueOrder`)."""
        return None

    def vote(self, group: Group, queue: Queue) -> int:
        """Votes on whether a gang may have pods (`enableJobEnqueued`)."""
        return ABSTAIN

    def let_in(self, group: Group) -> None:
        """Called when a gang was admitted."""

    def wanted(self, group: Group) -> int:
        """The number of tasks for which a gang may evict others (`enableJobStarving`)."""
        return 0

    def victims(self, claim: Claim, found: Sequence[Owned]) -> list[Owned]:
        """The tasks among `found` that may be evicted (`enablePreemptable`, `enableReclaimable`)."""
        return [*found]

    def removals(self) -> list[Task]:
        """Tasks to evict without a gang that needs their room (`enabledVictim`), at most once per period."""
        return []

    def removable(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """The tasks among the `removals` of a plugin that may be evicted now (`enabledVictim`)."""
        return tasks

    def due(self) -> Iterable[float]:
        """Seconds until the plugin needs another cycle."""
        return ()
