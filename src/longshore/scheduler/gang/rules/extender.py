"""The plugin `extender`: another server has a say, by HTTP. Here are its rules, which ask nobody themselves.

A rule that needs an answer notes a question and goes on as if it were a no; a plan with open questions is
not carried out. Somebody asks (`extending.py`), and the cycle is decided again with the answers. A question
holds all that the answer may depend on, so nodes are told as the cycle sees them at that point: with what it
has given away already. Documents have the names of Volcano's Go types, whose JSON an extender for Volcano
reads; of those types, the parts that there are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from longshore.api import types
from longshore.api.types import Obj
from longshore.scheduler.amounts import CPU, MEMORY, PODS, Amounts, rest
from longshore.scheduler.gang.extender_answers import Answer, Question
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.ledger import Node

PERMIT, ABSTAIN, REJECT = 1, 0, -1
"""Volcano's votes, as they are written in answers."""
_UNANSWERED: Final = "the extender has not answered yet"
_SCALAR: Final = 1000
"""Volcano counts all resources but memory in thousandths."""


class Extender:
    """The extender in one cycle, as far as its answers are known."""

    def __init__(self, plugin: Plugin, answers: Mapping[Question, Answer]) -> None:
        self._plugin, self._answers = plugin, answers
        self._is_ignorable: bool = plugin.argument("extender.ignorable")
        self._managed = frozenset(plugin.argument("extender.managedResources"))
        self._scores: dict[str, Obj] = {}
        """The scores of nodes for a task, by its uid."""
        self.questions: dict[Question, None] = {}
        """Questions to which the answers are not known."""
        self.has_refused = False
        """Whether anything was refused: it may be answered otherwise after a while."""

    # ---- nodes

    def problem(self, task: Task, node: Node) -> str:
        """Why a task may not be on a node; empty if it may."""
        if not self._cares_for(task):
            return ""
        answer = self._ask("predicateVerb", {"task": of_task(task), "node": of_node(node)})
        # Volcano reads the reason from `status`; its field is called ErrorMessage.
        said = _text(answer, "status") or _text(answer, "errorMessage")
        return self._refused(said or self._failure(answer))

    def prioritized(self, task: Task, nodes: Sequence[Node]) -> str:
        """Learns what nodes are worth to a task. Why it may be on none of them now; empty if it may."""
        if (
            len(nodes) < 2
            or not self._plugin.argument("extender.prioritizeVerb")
            or not self._cares_for(task)
        ):
            return ""
        answer = self._ask(
            "prioritizeVerb", {"task": of_task(task), "nodes": [of_node(node) for node in nodes]}
        )
        scores = answer.said.get("nodeScore") if answer is not None else None
        self._scores[task.pod.uid] = scores if isinstance(scores, dict) else {}
        return self._refused(_text(answer, "errorMessage") or self._failure(answer))

    def score(self, task: Task, node: Node) -> float:
        found = self._scores.get(task.pod.uid, {}).get(node.name)
        return float(found) if isinstance(found, int | float) else 0.0

    # ---- gangs and queues

    def vote(self, group: Group) -> int:
        """Whether a gang is let in."""
        if not any(map(self._cares_for, group.tasks.values())) and self._managed:
            return ABSTAIN
        answer = self._ask("jobEnqueueableVerb", {"job": of_group(group)})
        if self._refused(self._failure(answer)):
            return REJECT
        found = PERMIT if answer is None or answer.problem else answer.said.get("status", ABSTAIN)
        vote = found if found in (PERMIT, ABSTAIN) else REJECT
        self.has_refused = self.has_refused or vote == REJECT
        return vote

    def is_ready(self, group: Group) -> bool:
        """Whether a gang that has enough tasks may be bound."""
        answer = self._ask("jobReadyVerb", {"job": of_group(group)})
        if self._refused(self._failure(answer)):
            return False
        assert answer is not None  # which is a failure
        ready = bool(answer.problem) or answer.said.get("status") is True
        self.has_refused = self.has_refused or not ready
        return ready

    def is_overused(self, queue: Queue) -> bool:
        """Whether a queue gets nothing more."""
        answer = self._ask("queueOverusedVerb", {"queue": of_queue(queue)})
        overused = bool(self._failure(answer)) or (answer is not None and answer.said.get("overused") is True)
        self.has_refused = self.has_refused or overused
        return overused

    # ---- victims

    def victims(self, verb: str, task: Task, found: Sequence[Task]) -> set[str]:
        """The uids of those that may be removed for a task, by `preemptableVerb` or `reclaimableVerb`."""
        every = {each.pod.uid for each in found}
        if not found or not self._cares_for(task):
            return every
        document = {"evictor": of_task(task), "evictees": [of_task(each) for each in found]}
        answer = self._ask(verb, document)
        if self._refused(self._failure(answer)):
            return set()
        assert answer is not None  # which is a failure
        if answer.problem:
            return every
        named = answer.said.get("victims")
        if answer.said.get("status") == REJECT or not isinstance(named, list):
            self.has_refused = True
            return set()
        return every & {str(each.get("UID")) for each in named if isinstance(each, dict)}

    # ---- asking

    def opening(self, groups: Iterable[Group], queues: Iterable[Queue], nodes: Iterable[Node]) -> bytes:
        """The document of the beginning of a session; empty if the extender does not want to know."""
        if not self._plugin.argument("extender.onSessionOpenVerb"):
            return b""
        return types.encode(
            {
                "Jobs": {_job_key(group): of_group(group) for group in groups},
                "Nodes": {node.name: of_node(node) for node in nodes},
                "Queues": {queue.name: of_queue(queue) for queue in queues},
            }
        )

    def _ask(self, verb: str, document: Obj) -> Answer | None:
        """The answer; None if it is not known yet."""
        question = Question(url_of(self._plugin, verb), types.encode(document))
        answer = self._answers.get(question)
        if answer is None:
            self.questions[question] = None
        return answer

    def _failure(self, answer: Answer | None) -> str:
        """Why an answer counts as a no; empty if it is one, or if its lack may be ignored."""
        if answer is None:
            return _UNANSWERED
        return "" if self._is_ignorable else answer.problem

    def _refused(self, problem: str) -> str:
        self.has_refused = self.has_refused or bool(problem)
        return problem

    def _cares_for(self, task: Task) -> bool:
        """Whether the task asks for a resource of the extender's, or the extender looks after all tasks."""
        if not self._managed:
            return True
        spec = task.pod.obj["spec"]
        return any(
            name in self._managed
            for kind in ("containers", "initContainers")
            for container in spec.get(kind) or ()
            for amounts in (container.get("resources") or {}).values()
            if isinstance(amounts, dict)
            for name in amounts
        )


def url_of(plugin: Plugin, verb: str) -> str:
    """Where a verb is asked."""
    prefix: str = plugin.argument("extender.urlPrefix")
    return f"{prefix.rstrip('/')}/{plugin.argument(f'extender.{verb}')}"


def _text(answer: Answer | None, name: str) -> str:
    found = "" if answer is None else answer.said.get(name)
    return found if isinstance(found, str) else ""


# ---- documents


def of_task(task: Task) -> Obj:
    namespace, name = task.pod.key
    return {
        "UID": task.pod.uid,
        "Job": _job_key(task.group),
        "Name": name,
        "Namespace": namespace,
        "TaskRole": task.role,
        "Resreq": _resource(task.requests),
        "InitResreq": _resource(task.requests),
        "NodeName": task.node,
        "Priority": task.priority,
        "Preemptable": task.preemptable,
        "Pod": task.pod.obj,
    }


def of_node(node: Node) -> Obj:
    return {
        "Name": node.name,
        "Node": node.obj,
        "Idle": _resource(rest(node.allocatable, node.used)),
        "Used": _resource(node.used),
        "Allocatable": _resource(node.allocatable),
    }


def of_group(group: Group) -> Obj:
    meta, spec = group.obj["metadata"], group.obj.get("spec") or {}
    return {
        "UID": _job_key(group),
        "Name": group.key[1],
        "Namespace": group.key[0],
        "Queue": group.queue,
        "Priority": group.priority,
        "MinAvailable": group.min_member,
        "Tasks": {uid: of_task(task) for uid, task in group.tasks.items()},
        "PodGroup": {
            **{name: value for name, value in meta.items() if name != "managedFields"},
            "Spec": {name[:1].upper() + name[1:]: value for name, value in spec.items()},
            "Status": {"Phase": group.phase},
        },
    }


def of_queue(queue: Queue) -> Obj:
    return {"UID": queue.name, "Name": queue.name, "Weight": queue.weight, "Queue": queue.obj}


def _job_key(group: Group) -> str:
    return "/".join(group.key)


def _resource(amounts: Amounts) -> dict[str, Any]:
    others = {name: amount * _SCALAR for name, amount in amounts.items() if name not in (CPU, MEMORY, PODS)}
    found: dict[str, Any] = {"MilliCPU": amounts.get(CPU, 0), "Memory": amounts.get(MEMORY, 0)}
    return found | {"ScalarResources": others or None, "MaxTaskNum": amounts.get(PODS, 0)}
