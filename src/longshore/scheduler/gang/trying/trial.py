"""One cycle's own gangs and queues, on which placements are tried and undone.

Made from the cycle's view, which is not changed; the results are in `binds`, `evictions`, `refusals` and the
groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from longshore.scheduler import amounts
from longshore.scheduler.amounts import total
from longshore.scheduler.fitting import pod_claims
from longshore.scheduler.fitting.filters import Context
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.cycle import Cycle
from longshore.scheduler.gang.model.group import Group, GroupRules
from longshore.scheduler.gang.model.queue import Branches, Queue
from longshore.scheduler.gang.model.task import ALLOCATED, BINDING, PENDING, PIPELINED, RELEASING, Task
from longshore.scheduler.gang.model.topology import Topology
from longshore.scheduler.gang.plan import Bind, Evict, Refusal
from longshore.scheduler.gang.plugins.cycle_plugins import GangPlugins
from longshore.scheduler.gang.plugins.gang_plugin import Place
from longshore.scheduler.gang.settings import Settings
from longshore.scheduler.gang.trying import sharing
from longshore.scheduler.gang.trying.branches import Limits, QueueTree
from longshore.scheduler.gang.trying.node_scores import NodeRules
from longshore.scheduler.gang.trying.rooms import Room, Rooms


class Trial:
    """Groups and queues of one cycle. Groups whose queue does not exist are left out."""

    def __init__(self, cycle: Cycle) -> None:
        self.cycle, self.settings, self.now, self.settled = cycle, cycle.settings, cycle.now, cycle.settled
        self.queues = {obj["metadata"]["name"]: Queue(obj) for obj in cycle.queues}
        rules = rules_of(cycle.settings)
        groups = (Group(seen, rules) for seen in cycle.groups)
        self.groups = {group.uid: group for group in groups if group.queue in self.queues}
        self.plugins = GangPlugins(self)
        self.rooms = Rooms(cycle.view, cycle.settings, NodeRules(self.plugins))
        self.budgets = cycle.view.budgets
        self.shuffled, self.shuffles = cycle.shuffled, set[str]()
        """When `shuffle` last evicted for each plugin, and the plugins for which this cycle does."""
        self._hyper_nodes = cycle.hyper_nodes
        shares = cycle.settings.shares
        self.limits = Limits(Branches(self.queues), shares)
        self._sla_first = _comes_before(cycle.settings, "sla", "gang", plugin_table.JOB_PIPELINED)
        self.binds: list[Bind] = []
        self.ungated: dict[str, Task] = {}
        """By uid, the tasks whose queue has room for them."""
        self.evictions: list[Evict] = []
        self.refusals: list[Refusal] = []
        self.total = total(node.allocatable for node in self.rooms.nodes)
        self.used = total(node.used for node in self.rooms.nodes)
        self.shared = {name: amount for name, amount in self.total.items() if name != amounts.PODS}
        self.reserved = sharing.fill(
            self.limits.branches,
            self.groups.values(),
            self.total,
            by_weight=shares is None or shares.name == "proportion",
            settled=cycle.settled,
        )
        """The amounts promised to gangs in earlier cycles and not used yet."""
        for group in self.groups.values():
            for task in group.tasks.values():
                if task.reserves:
                    self._reserve(group, task, 1)
        if shares is not None and shares.name == "capacity" and shares.argument(plugin_table.HIERARCHY):
            self.limits.tree = QueueTree(self.limits.branches)
        self._job_order = self.plugins.in_order(plugin_table.JOB_ORDER)
        ordering = self.plugins.in_order(plugin_table.QUEUE_ORDER)
        self._queue_order = [order for each in ordering if (order := each.queue_order()) is not None]

    @cached_property
    def topology(self) -> Topology:
        """The network between nodes. Made on demand, since most cycles do not need it."""
        return Topology(self._hyper_nodes, {node.name: node.labels for node in self.rooms.nodes})

    # ---- order

    def queue_order(self, queue: Queue) -> Place:
        return *(order(queue) for order in self._queue_order), queue.created, queue.name

    def group_order(self, group: Group) -> Place:
        """The sort key of a gang: plugins, age in seconds, namespace and name, as by Volcano's ids."""
        return *(plugin.job_order(group) for plugin in self._job_order), group.created, "/".join(group.key)

    def is_overdue(self, group: Group) -> bool:
        """Whether the gang has waited longer than it may."""
        return group.deadline is not None and self.now > group.deadline

    def keeps_room(self, group: Group) -> bool:
        """Whether a gang keeps room that is not enough yet, because it will be enough or the gang has waited
        too long."""
        return group.is_pipelined or (self._sla_first and self.is_overdue(group))

    def share_of(self, group: Group) -> float:
        """The group's dominant share of the cluster."""
        return sharing.share(group.holding, self.shared) if group.holding else 0.0

    # ---- trying

    def allocate(self, group: Group, task: Task, room: Room) -> None:
        """Places the task on room that is free now."""
        self._place(group, task, room, ALLOCATED)
        self.rooms.add(task, room)

    def pipeline(self, group: Group, task: Task, room: Room) -> None:
        """Places the task on room that other pods will leave."""
        self._place(group, task, room, PIPELINED)
        self.rooms.promise(task, room)

    def _place(self, group: Group, task: Task, room: Room, status: str) -> None:
        self._reserve(group, task, -1)
        group.move(task, status)
        task.node = room.node.name
        self._charge(group, task, 1)

    def undo(self, group: Group, task: Task) -> None:
        """Undoes a placement and remembers it for the report."""
        task.possible = task.status, task.node
        if task.status == PIPELINED:
            self.rooms.take_back(task)
        else:
            self.rooms.remove(task)
        group.move(task, PENDING)
        task.node = ""
        self._charge(group, task, -1)
        self._reserve(group, task, 1)

    def ungate(self, group: Group, task: Task) -> None:
        """Reserves room in the queue for a task gated only by its queue, and marks it to be ungated."""
        if task.pod.uid not in self.ungated:
            self.ungated[task.pod.uid] = task
            task.reserves = True
            self._reserve(group, task, 1)

    def _reserve(self, group: Group, task: Task, sign: int) -> None:
        if task.reserves:
            reserved = self.queues[group.queue].reserved
            for name, amount in task.requests.items():
                reserved[name] = reserved.get(name, 0) + sign * amount

    def commit(self, group: Group, tasks: Iterable[Task]) -> None:
        """Binds the tasks that have room now."""
        for task in tasks:
            if task.status != ALLOCATED:
                continue
            context = self.rooms.context(task)
            needs = context.needs if isinstance(context, Context) else pod_claims.NOTHING
            self.binds.append(Bind(task, task.node, needs))
            group.move(task, BINDING)

    def evict(self, group: Group, task: Task) -> None:
        """Evicts the task in the trial."""
        self.rooms.release(task)
        queue = self.queues[group.queue]
        queue.releasing = total((queue.releasing, task.requests))
        self._charge(group, task, -1)
        group.move(task, RELEASING)

    def unevict(self, group: Group, task: Task, status: str) -> None:
        self.rooms.keep(task)
        queue = self.queues[group.queue]
        queue.releasing = {n: a - task.requests.get(n, 0) for n, a in queue.releasing.items()}
        group.move(task, status)
        self._charge(group, task, 1)

    def removed_pods(self) -> list[Pod]:
        """The pods that this cycle evicts, in the trial or for good."""
        return [
            task.pod
            for group in self.groups.values()
            for task in group.in_status(RELEASING)
            if "deletionTimestamp" not in task.pod.obj["metadata"]
        ]

    def _charge(self, group: Group, task: Task, sign: int) -> None:
        queue = self.queues[group.queue]
        for name, amount in task.requests.items():
            queue.allocated[name] = queue.allocated.get(name, 0) + sign * amount


_GROUP_RULES: Final = (
    ("gang", plugin_table.JOB_READY),
    ("gang", plugin_table.JOB_PIPELINED),
    ("priority", plugin_table.TASK_ORDER),
    ("task-topology", plugin_table.TASK_ORDER),
)
"""For each field of `GroupRules`, the plugin and the point that enable it."""


def rules_of(settings: Settings) -> GroupRules:
    return GroupRules(*(settings.plugin(*say) is not None for say in _GROUP_RULES))


def _comes_before(settings: Settings, one: str, other: str, point: str) -> bool:
    """Whether one plugin is called at a point in an earlier tier than another."""
    for tier in settings.tiers_at(point):
        names = {plugin.name for plugin in tier}
        if other in names:
            return False
        if one in names:
            return True
    return False
