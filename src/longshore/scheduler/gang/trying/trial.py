"""One cycle's own gangs and queues, on which things are tried. What does not work out is taken back.

Made of what the cycle sees, which it leaves alone; what it comes to is in `binds`, `evictions`, `events` and
its groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final, TypeAlias

from longshore.scheduler import amounts
from longshore.scheduler.amounts import total
from longshore.scheduler.fitting import pod_claims
from longshore.scheduler.fitting.filters import Context
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.cycle import Cycle
from longshore.scheduler.gang.model.group import Group, GroupRules
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import ALLOCATED, BINDING, PENDING, PIPELINED, RELEASING, Task
from longshore.scheduler.gang.model.topology import Topology
from longshore.scheduler.gang.plan import Bind, Event, Evict
from longshore.scheduler.gang.rules.extender import Extender
from longshore.scheduler.gang.rules.node_usage import Usage
from longshore.scheduler.gang.rules.quotas import Quotas
from longshore.scheduler.gang.rules.revocable_zones import Zones
from longshore.scheduler.gang.settings import Settings
from longshore.scheduler.gang.trying import sharing
from longshore.scheduler.gang.trying.branches import QueueTree, WeightedTree
from longshore.scheduler.gang.trying.limits import Limits
from longshore.scheduler.gang.trying.node_rules import NodeRules
from longshore.scheduler.gang.trying.rooms import Room, Rooms

Place: TypeAlias = tuple[Any, ...]
"""Where a gang stands among others; no two stand in the same one."""


class Session:
    """Groups and queues of one cycle. Only groups whose queue exists are here."""

    def __init__(self, cycle: Cycle) -> None:
        self.settings, self.now, self.settled = cycle.settings, cycle.now, cycle.settled
        self.queues = {obj["metadata"]["name"]: Queue(obj) for obj in cycle.queues}
        rules = rules_of(cycle.settings)
        groups = (Group(seen, rules) for seen in cycle.groups)
        self.groups = {group.uid: group for group in groups if group.queue in self.queues}
        tdm = cycle.settings.plugin("tdm")
        self.zones = None if tdm is None else Zones(tdm, cycle.now)
        self.usage = Usage(cycle.loads, cycle.now)
        extender = cycle.settings.plugin("extender")
        self.extender = None if extender is None else Extender(extender, cycle.answers)
        rules_of_nodes = NodeRules(cycle.settings, self.queues, self.zones, self.usage, self.extender)
        self.rooms = Rooms(cycle.view, cycle.settings, rules_of_nodes)
        self.budgets, self.quotas = cycle.view.budgets, Quotas(cycle.quotas)
        for obj in cycle.awaited:
            self.quotas.promise(obj)
        self.shuffled, self.shuffles = cycle.shuffled, set[str]()
        """When tasks were last removed by `shuffle`, by plugin, and for which plugins this cycle does."""
        self._hyper_nodes = cycle.hyper_nodes
        shares = cycle.settings.shares
        asked = self.extender if cycle.settings.plugin("extender", plugin_table.OVERUSED) else None
        self.limits = Limits(self.queues, shares, asked)
        self._asked_if_ready = (
            self.extender if cycle.settings.plugin("extender", plugin_table.JOB_READY) else None
        )
        self._job_order = tuple(
            _ORDERS[plugin.name]
            for tier in cycle.settings.tiers_at(plugin_table.JOB_ORDER)
            for plugin in tier
        )
        self._sla_first = _comes_before(cycle.settings, "sla", "gang", plugin_table.JOB_PIPELINED)
        self.binds: list[Bind] = []
        self.ungated: dict[str, Task] = {}
        """Tasks whose queue has room for them, by uid."""
        self.evictions: list[Evict] = []
        self.events: list[Event] = []
        self.total = total(node.allocatable for node in self.rooms.nodes)
        self.used = total(node.used for node in self.rooms.nodes)
        self._shared = {name: amount for name, amount in self.total.items() if name != amounts.PODS}
        self.reserved = sharing.fill(
            self.queues,
            self.groups.values(),
            self.total,
            by_weight=shares is None or shares.name == "proportion",
            settled=cycle.settled,
        )
        """The amounts promised to gangs before and not used yet."""
        for group in self.groups.values():
            for task in group.tasks.values():
                if task.reserves:
                    self._reserve(group, task, 1)
        if shares is not None and shares.name == "capacity" and shares.argument(plugin_table.HIERARCHY):
            self.limits.tree = QueueTree(self.queues)
        self._queue_order = self._orders_of_queues(cycle.settings)

    @cached_property
    def topology(self) -> Topology:
        """The network between nodes. Most cycles have nobody who asks."""
        return Topology(self._hyper_nodes, {node.name: node.labels for node in self.rooms.nodes})

    def opening(self) -> bytes:
        """The document that an extender is told first."""
        assert self.extender is not None  # who asks for it has one
        return self.extender.opening(self.groups.values(), self.queues.values(), self.rooms.nodes)

    def is_ready(self, group: Group) -> bool:
        """Whether a gang has enough tasks, and nobody who is asked holds it up."""
        asked = self._asked_if_ready
        return group.is_ready and (asked is None or asked.is_ready(group))

    # ---- order

    def queue_order(self, queue: Queue) -> Place:
        return *(order(queue) for order in self._queue_order), queue.created, queue.name

    def _orders_of_queues(self, settings: Settings) -> list[Callable[[Queue], Place]]:
        """Who comes first among queues: one part of a place for each plugin that has a say."""
        found: list[Callable[[Queue], Place]] = []
        for plugin in (each for tier in settings.tiers_at(plugin_table.QUEUE_ORDER) for each in tier):
            if plugin.name != "drf":
                found.append(self._by_share if self.limits.tree is None else self._by_branch)
            elif plugin.argument(plugin_table.HIERARCHY):
                found.append(WeightedTree(self.queues, self._shared).place)
        return found

    def _by_share(self, queue: Queue) -> Place:
        return -queue.priority, sharing.share(queue.allocated, queue.deserved)

    def _by_branch(self, queue: Queue) -> Place:
        tree = self.limits.tree
        assert tree is not None  # who calls this has one
        return tuple((-each.priority, tree.share(each), each.created, each.name) for each in tree.path(queue))

    def group_order(self, group: Group) -> Place:
        return *(order(self, group) for order in self._job_order), group.created, group.uid

    def is_overdue(self, group: Group) -> bool:
        """Whether it has waited longer than it may."""
        return group.deadline is not None and self.now > group.deadline

    def keeps_room(self, group: Group) -> bool:
        """Whether the gang's share of room that is not enough yet is kept for it: it will be enough, or
        the gang has waited too long."""
        return group.is_pipelined or (self._sla_first and self.is_overdue(group))

    def share_of(self, group: Group) -> float:
        """The group's dominant share of the cluster."""
        return sharing.share(group.holding, self._shared) if group.holding else 0.0

    # ---- trying

    def allocate(self, group: Group, task: Task, room: Room) -> None:
        """Room that is there now."""
        self._reserve(group, task, -1)
        group.move(task, ALLOCATED)
        task.node = room.node.name
        self.rooms.add(task, room)
        self._charge(group, task, 1)

    def pipeline(self, group: Group, task: Task, room: Room) -> None:
        """Room that others will leave."""
        self._reserve(group, task, -1)
        group.move(task, PIPELINED)
        task.node = room.node.name
        self.rooms.promise(task, room)
        self._charge(group, task, 1)

    def undo(self, group: Group, task: Task) -> None:
        """Takes a trial back; what was possible is remembered for the report."""
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
        """The queue has room for a task that waits for nothing else: it is kept for it."""
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
        """In thought: the task leaves its node."""
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
        """The pods that this cycle has removed, in thought or for good."""
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


_ORDERS: Final[dict[str, Callable[[Session, Group], float]]] = {
    "priority": lambda session, group: -group.priority,
    "gang": lambda session, group: group.is_ready,
    "sla": lambda session, group: group.deadline if group.deadline is not None else float("inf"),
    "drf": Session.share_of,
    "tdm": lambda session, group: any(task.preemptable for task in group.tasks.values()),
}
"""Who comes first, by plugin; the least does."""


def rules_of(settings: Settings) -> GroupRules:
    return GroupRules(
        settings.plugin("gang", plugin_table.JOB_READY) is not None,
        settings.plugin("gang", plugin_table.JOB_PIPELINED) is not None,
        settings.plugin("priority", plugin_table.TASK_ORDER) is not None,
        settings.plugin("task-topology", plugin_table.TASK_ORDER) is not None,
    )


def _comes_before(settings: Settings, one: str, other: str, point: str) -> bool:
    """Whether one plugin has its say at a point in an earlier tier than another."""
    for tier in settings.tiers_at(point):
        names = {plugin.name for plugin in tier}
        if other in names:
            return False
        if one in names:
            return True
    return False
