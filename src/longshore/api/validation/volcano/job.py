"""Checks of a new Volcano Job. All problems are one text, in Volcano's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Final

from longshore.api import field, goflags, gotext, label_syntax, names, quantity, types
from longshore.api.defaults.pod import default_pod_template
from longshore.api.types import Obj
from longshore.api.validation import pod
from longshore.api.validation.volcano import jobflow

PLUGINS: Final = frozenset(("env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow"))
_MPI: Final[dict[str, goflags.Value]] = {"master": "master", "worker": "worker", "port": 22}


def validate(
    spec: Obj, name: str, *, queue: Callable[[str], str], known_plugin: Callable[[str], bool]
) -> str:
    """`queue` returns why a queue cannot be used; `known_plugin` knows the plugins beyond Volcano's own."""
    listed = spec.get("tasks") or []
    if not listed:
        return "No task specified in job spec"
    plugins = spec.get("plugins") or {}
    if "mpi" in plugins and not _has_master(plugins["mpi"], listed):
        return "The specified mpi master task was not found"
    found = TIERS if _both_tiers(spec, listed) else ""
    found += _tasks(listed, name)
    if problems := label_syntax.qualified_name(name):
        found += f"create job with name {name} validate failed {gotext.plain(problems)}"
    if sum(task.get("replicas", 0) for task in listed) < spec.get("minAvailable", 0):
        found += " job 'minAvailable' should not be greater than total replicas in tasks;"
    found += validate_policies(spec.get("policies") or (), "spec.policies")
    for plugin in sorted(plugins):
        if plugin not in PLUGINS and not known_plugin(plugin):
            found += f" unable to find job plugin: {plugin};"
    found += validate_volumes(spec.get("volumes") or ())
    found += queue(spec.get("queue", ""))
    if not _ordered(listed):
        found += " job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
    return found.strip()


def _tasks(listed: Sequence[Obj], job_name: str) -> str:
    """The problems of the tasks, in order, until a name occurs twice."""
    found = ""
    seen: set[str] = set()
    for index, task in enumerate(listed):
        name = task.get("name", "")
        least = task.get("minAvailable")
        if least is not None and least > task.get("replicas", 0):
            found += f" 'minAvailable' is greater than 'replicas' in task: {name}, job: {job_name};"
        if name in seen:
            return found + f" duplicated task name {name};"
        seen.add(name)
        found += validate_task(task, index, job_name)
    return found


def _has_master(arguments: Sequence[str] | None, listed: Sequence[Obj]) -> bool:
    master = goflags.parse(arguments or (), _MPI)["master"]
    return any(task.get("name") == master for task in listed)


def _both_tiers(spec: Obj, listed: Sequence[Obj]) -> bool:
    if both_tiers(spec.get("networkTopology")):
        return True
    return any(both_tiers((t.get("partitionPolicy") or {}).get("networkTopology")) for t in listed)


def _ordered(listed: Sequence[Obj]) -> bool:
    """Whether the tasks form a DAG. A duplicate task name counts as a cycle, as in upstream's algorithm."""
    if not any(task.get("dependsOn") for task in listed):
        return True
    waits_for = {t.get("name", ""): (t.get("dependsOn") or {}).get("name") or () for t in listed}
    once = all(len({*others}) == len(others) for others in waits_for.values())
    return once and len(waits_for) == len(listed) and jobflow.is_acyclic(waits_for)


# ---- The tasks of a Volcano Job, one by one: counts, names, policies, pods, partitions.

TIERS: Final = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"


def validate_task(task: Obj, index: int, job_name: str) -> str:
    """All problems of the task at `index`, apart from those it shares with other tasks."""
    name = task.get("name", "")
    found = validate_policies(task.get("policies") or (), "spec.tasks.policies")
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
    """The first problem of the partitions of a task."""
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
    """Checks the pod template by Kubernetes' own rules and, if it is valid, its processors by Volcano's."""
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


# ---- Lifecycle policies: which events and actions a person may name, and what excludes what.

EVENTS: Final = (
    "*", "JobUpdated", "PodEvicted", "PodFailed", "PodPending", "TaskCompleted", "TaskFailed", "Unknown",
)  # fmt: skip
ACTIONS: Final = (
    "AbortJob", "CompleteJob", "RestartJob", "RestartPartition", "RestartPod", "RestartTask", "ResumeJob",
    "TerminateJob",
)  # fmt: skip
_ANY: Final = "*"
_VALID: Final = f" valid events are [{' '.join(EVENTS)}], valid actions are [{' '.join(ACTIONS)}];"


def validate_policies(policies: Iterable[Obj], path: str) -> str:
    """The problems of the policies of a Job (`spec.policies`) or task (`spec.tasks.policies`)."""
    events: set[str] = set()
    problems: list[str] = []
    codes: set[int] = set()
    for policy in policies:
        if problem := _policy(policy, path, events, codes):
            problems.append(problem)
            break
    if _ANY in events and len(events) > 1:
        problems.append("if there's * here, no other policy should be here")
    if not problems:
        return ""
    head = "1 error occurred" if len(problems) == 1 else f"{len(problems)} errors occurred"
    return f"{head}:\n\t" + "\n\t".join(f"* {text}" for text in problems) + "\n\n" + _VALID


def _policy(policy: Obj, path: str, events: set[str], codes: set[int]) -> str:
    """The problem of one policy; adds its events and exit code to those seen so far."""
    named = events_of(policy)
    code = policy.get("exitCode")
    if named and code is not None:
        return "must not specify event and exitCode simultaneously"
    if not named and code is None:
        return "either event and exitCode should be specified"
    for event in named:
        if event not in EVENTS:
            return str(field.invalid(path, event, "invalid policy event"))
        action = policy.get("action", "")
        if action not in ACTIONS:
            return str(field.invalid(path, action, "invalid policy action"))
        if event in events:
            return f"duplicate event {event}  across different policy"
        events.add(event)
    if code is None:
        return ""
    if code == 0:
        return "0 is not a valid error code"
    if code in codes:
        return f"duplicate exitCode {code}"
    codes.add(code)
    return ""


def events_of(policy: Obj) -> list[str]:
    """The events a policy names in either way, each once."""
    named = list(policy.get("events") or ())
    if policy.get("event"):
        named.append(policy["event"])
    return list(dict.fromkeys(named))


# ---- Volumes of a Volcano Job: a path, and a claim that is either there or to be made.

_BOTH: Final = (
    "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
    "If you want to create a new PVC, you do not need to specify VolumeClaimName"
)


def validate_volumes(volumes: Iterable[Obj]) -> str:
    """The first problem of a Job's volumes."""
    paths: set[str] = set()
    for volume in volumes:
        path, name = volume.get("mountPath", ""), volume.get("volumeClaimName", "")
        if not path:
            return " mountPath is required;"
        if path in paths:
            return f" duplicated mountPath: {path};"
        paths.add(path)
        has_claim = volume.get("volumeClaim") is not None
        if not has_claim and not name:
            return " either VolumeClaim or VolumeClaimName must be specified;"
        if has_claim and name:
            return _BOTH
        if name and (problems := names.dns1123_subdomain(name)):
            return f"invalid VolumeClaimName {name} : {gotext.plain(problems)}"
    return ""


# ---- Allowed changes to a Volcano Job: numbers of pods, minimum numbers of pods, and its priority.

_FIXED: Final = (
    "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` "
    "and `PriorityClassName`"
)
_FREE: Final = ("minAvailable", "priorityClassName")
_FREE_IN_TASKS: Final = ("minAvailable", "replicas")


def validate_update(new: Obj, old: Obj, name: str) -> str:
    """The first problem of an update, given both specs."""
    listed = new.get("tasks") or []
    for task in listed:
        if problem := _task(task, name):
            return problem
    least = new.get("minAvailable", 0)
    if least > sum(task.get("replicas", 0) for task in listed):
        return "job 'minAvailable' must not be greater than total replicas"
    if least < 0:
        return "job 'minAvailable' must be >= 0"
    if both_tiers(new.get("networkTopology")):
        return TIERS
    if any(both_tiers((t.get("partitionPolicy") or {}).get("networkTopology")) for t in listed):
        return TIERS
    if len(listed) != len(old.get("tasks") or ()):
        return "job updates may not add or remove tasks"
    return "" if _fixed(new) == _fixed(old) else _FIXED


def _task(task: Obj, job_name: str) -> str:
    name, replicas, least = task.get("name", ""), task.get("replicas", 0), task.get("minAvailable")
    if replicas < 0:
        return f"'replicas' must be >= 0 in task: {name}"
    if least is not None and least < 0:
        return f"'minAvailable' must be >= 0 in task: {name}"
    if least is not None and least > replicas:
        return f"'minAvailable' must be <= 'replicas' in task: {name}"
    return partitions(task, job_name)


def _fixed(spec: Obj) -> Obj:
    """The part of a spec that must not change: without the names of claims, which the controller writes."""
    kept = {key: value for key, value in spec.items() if key not in _FREE}
    kept["tasks"] = [
        {key: value for key, value in task.items() if key not in _FREE_IN_TASKS}
        for task in spec.get("tasks") or ()
    ]
    kept["volumes"] = [
        {k: v for k, v in volume.items() if k != "volumeClaimName" or volume.get("volumeClaim") is None}
        for volume in spec.get("volumes") or ()
    ]
    return kept
