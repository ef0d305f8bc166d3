"""The tasks of a Volcano Job, one by one: counts, names, policies, pods, partitions."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from longshore.api import gotext, label_syntax, quantity, types
from longshore.api.defaults.pod import default_pod_template
from longshore.api.types import Obj
from longshore.api.validation import pod
from longshore.api.validation.volcano import policies

TIERS: Final = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"


def validate(task: Obj, index: int, job_name: str) -> str:
    """All that is wrong with the task at `index`, apart from what it shares with others."""
    name = task.get("name", "")
    found = policies.validate(task.get("policies") or (), "spec.tasks.policies")
    pod_name = f"{job_name}-{name}-{index}"
    if problems := label_syntax.qualified_name(pod_name):
        found += f"create pod with name {pod_name} validate failed {gotext.plain(problems)};"
    found += _template(task, index)
    return found + partitions(task, job_name)


def both_tiers(topology: Obj | None) -> bool:
    """Whether a network topology names its highest tier in both ways."""
    return bool(
        topology and topology.get("highestTierAllowed") is not None and topology.get("highestTierName")
    )


def partitions(task: Obj, job_name: str) -> str:
    """The first thing wrong with the partitions of a task."""
    policy = task.get("partitionPolicy")
    if policy is None:
        return ""
    total, size = policy.get("totalPartitions", 0), policy.get("partitionSize", 0)
    least = policy.get("minPartitions", 0)
    where = f" in task: {task.get('name', '')}, job: {job_name}"
    if total <= 0:
        return "'TotalPartitions' must be greater than 0" + where
    if size <= 0:
        return "'PartitionSize' must be greater than 0" + where
    if task.get("replicas", 0) != total * size:
        return "'Replicas' are not equal to TotalPartitions*PartitionSize" + where
    if least > 0 and task.get("minAvailable") not in (None, least * size):
        return "'MinAvailable' is not equal to MinPartitions*PartitionSize" + where
    return ""


def _template(task: Obj, index: int) -> str:
    """The pod template by Kubernetes' own rules; only if it is fine, its processors by Volcano's."""
    template = types.copy_of(task.get("template") or {})
    default_pod_template(template)
    if problems := pod.validate_pod_template(template, "template"):
        return f"spec.task[{index}]." + "".join(f"{problem}. " for problem in problems)
    if task.get("topologyPolicy", "") in ("", "none"):
        return ""
    spec = (task.get("template") or {}).get("spec") or {}
    for place, container in enumerate([*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]):
        if not _whole_processors(container.get("resources") or {}):
            return f"the cpu request isn't an integer in spec.task[{index}] container[{place}]."
    return ""


def _whole_processors(resources: Obj) -> bool:
    asked = resources.get("requests") or resources.get("limits") or {}
    amount: Decimal = quantity.parse(asked.get("cpu", "0")).amount
    return amount > 0 and amount == amount.to_integral_value()
