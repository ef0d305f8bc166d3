"""Work as clusters have it: more nodes, taints, priorities, quotas, sidecars, time zones, namespaces.

Drawn with dice of its own over a scenario, so that a seed of before is the same scenario without it.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from longshore.api.types import Obj
from simulation.scenario import OTHER_NAMESPACE, Deed, Scenario

ZONE: Final = "topology.kubernetes.io/zone"
_TAINT: Final = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
_TOLERATION: Final = {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}
_PRIORITIES: Final = {"urgent": 1000, "idle": -10}
_ZONES_AND_HOURS: Final = (("Asia/Kolkata", 5), ("America/New_York", 19), ("Asia/Kathmandu", 5))
"""The hours of these zones in which a run begins."""


def drawn(scenario: Scenario) -> Scenario:
    rng = random.Random(f"more work of {scenario.seed}")
    deeds = [replace(deed, body=copy.deepcopy(deed.body)) for deed in scenario.deeds]
    more = _MoreWork(rng, deeds)
    nodes = more.nodes() if rng.random() < 0.3 else ()
    if rng.random() < 0.25:
        more.priorities()
    if rng.random() < 0.15:
        more.quota()
    for deed in more.work:
        more.refine(deed)
    if rng.random() < 0.2:
        more.second_namespace()
    dies = any(crash.who == "all" for crash in scenario.crashes)
    is_held = any(deed.verb == "relabel a pod" for deed in deeds)  # by a person who goes on after the death
    upgrades = rng.random() < 0.2 and dies and not is_held
    deeds = sorted((*more.first, *more.deeds), key=lambda deed: deed.at)
    return replace(scenario, deeds=tuple(deeds), nodes=nodes, upgrades=upgrades)


class _MoreWork:
    def __init__(self, rng: random.Random, deeds: list[Deed]) -> None:
        self._rng = rng
        self.first: list[Deed] = []
        self.deeds = deeds

    @property
    def work(self) -> list[Deed]:
        return [d for d in self.deeds if d.verb == "create" and d.kind in ("job", "cronjob", "gang")]

    def nodes(self) -> tuple[Obj, ...]:
        """One or two nodes more in another zone, which may be for pods that tolerate that only."""
        rng = self._rng
        is_tainted = rng.random() < 0.5
        spec: Obj = {"taints": [_TAINT]} if is_tainted else {}
        for pod in self._pods():
            if rng.random() < 0.4:
                pod["nodeSelector"] = {ZONE: "b"}
            if is_tainted and ("nodeSelector" in pod or rng.random() < 0.3):
                pod["tolerations"] = [_TOLERATION]
        names = ("node-b", "node-c")[: rng.choice((1, 1, 2))]
        return tuple({"metadata": {"name": name, "labels": {ZONE: "b"}}, "spec": spec} for name in names)

    def priorities(self) -> None:
        """Some work is more urgent than other work, and one budget protects pods of what is idle."""
        for name, value in _PRIORITIES.items():
            self.first.append(Deed(0.0, "create", "priorityclass", name, {"value": value}))
        for deed in self.work:
            if deed.kind == "gang" and self._rng.random() < 0.5:
                deed.body["spec"]["priorityClassName"] = self._rng.choice([*_PRIORITIES])
            elif deed.kind != "gang":
                for pod in _pods_of(deed):
                    pod["priorityClassName"] = self._rng.choice([*_PRIORITIES])
        if self._rng.random() < 0.4:
            selector = {"matchLabels": {"batch.kubernetes.io/job-name": self._rng.choice(self.work).name}}
            budget = {"spec": {"maxUnavailable": 0, "selector": selector}}
            self.first.append(Deed(0.0, "create", "budget", "budget", budget))

    def quota(self) -> None:
        """So many pods, or Jobs, may be there at a time."""
        hard = self._rng.choice(({"pods": "3"}, {"requests.cpu": "1"}))
        hard = {"count/jobs.batch": "2"} if self._rng.random() < 0.3 else hard
        self.first.append(Deed(0.0, "create", "quota", "quota", {"spec": {"hard": hard}}))

    def refine(self, deed: Deed) -> None:
        """Gives one Job, CronJob or gang more than it had."""
        rng = self._rng
        for pod in _pods_of(deed):
            if rng.random() < 0.15:
                self._containers(pod)
        spec = deed.body["spec"]
        match deed.kind:
            case "job":
                self._rules(spec)
            case "cronjob":
                self._rules(spec["jobTemplate"]["spec"])
                if rng.random() < 0.25 and not spec["schedule"].startswith("@"):
                    zone, hour = rng.choice(_ZONES_AND_HOURS)
                    minutes = spec["schedule"].split()[0]
                    spec["schedule"] = f"{minutes} {rng.choice((hour, hour, hour + 1))} * * *"
                    spec["timeZone"] = zone
            case "gang":
                self._tasks(spec)

    def _containers(self, pod: Obj) -> None:
        """Containers that come before the main one: some end, and some run beside it."""
        requests = {"requests": {"cpu": "50m"}}
        init = {"name": "init", "image": "i", "resources": requests}
        beside = {"name": "beside", "image": "i", "restartPolicy": "Always", "resources": requests}
        pod["initContainers"] = self._rng.choice(([init], [beside], [init, beside], [beside, init]))

    def _rules(self, spec: Obj) -> None:
        """Rules about all codes but some, or about one container."""
        for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
            if (codes := rule.get("onExitCodes")) is None:
                continue
            if self._rng.random() < 0.3:
                codes["operator"] = "NotIn"
            if self._rng.random() < 0.3:
                containers = spec["template"]["spec"].get("initContainers") or ()
                codes["containerName"] = self._rng.choice(["main", *(each["name"] for each in containers)])

    def _tasks(self, spec: Obj) -> None:
        """A task that waits for another one, policies for exit codes, and policies that wait."""
        rng, tasks = self._rng, spec["tasks"]
        if len(tasks) == 2 and rng.random() < 0.25:
            tasks[1]["dependsOn"] = {"name": [tasks[0]["name"]], "iteration": rng.choice(("any", "all"))}
            spec["minAvailable"] = tasks[0]["replicas"]
        if rng.random() < 0.2:
            actions = ("RestartTask", "RestartPod", "AbortJob", "CompleteJob", "TerminateJob")
            policy = {"exitCode": rng.choice((1, 7, 42)), "action": rng.choice(actions)}
            tasks[0].setdefault("policies", []).append(policy)
        for policy in spec.get("policies") or ():
            if rng.random() < 0.15:
                policy["timeout"] = rng.choice(("1s", "8s"))

    def second_namespace(self) -> None:
        """Some of the work is in another namespace, where no quota counts it."""
        moved = {deed.name for deed in self.work if self._rng.random() < 0.5}
        self.deeds = [
            replace(deed, namespace=OTHER_NAMESPACE) if deed.name in moved else deed for deed in self.deeds
        ]

    def _pods(self) -> Iterator[Obj]:
        """The pods of Jobs: a gang finds room on the first node alone."""
        return (pod for deed in self.work if deed.kind != "gang" for pod in _pods_of(deed))


def _pods_of(deed: Deed) -> list[Any]:
    """The pod templates of a Job, CronJob or gang."""
    spec = deed.body["spec"]
    match deed.kind:
        case "cronjob":
            return [spec["jobTemplate"]["spec"]["template"]["spec"]]
        case "gang":
            return [task["template"]["spec"] for task in spec["tasks"]]
    return [spec["template"]["spec"]]
