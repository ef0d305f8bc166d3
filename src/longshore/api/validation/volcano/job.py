"""Checks of a new Volcano Job. All complaints are one text, in Volcano's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from longshore.api import goflags, gotext, label_syntax
from longshore.api.types import Obj
from longshore.api.validation.volcano import dag, job_volumes, policies, tasks

PLUGINS: Final = frozenset(("env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow"))
_MPI: Final[dict[str, goflags.Value]] = {"master": "master", "worker": "worker", "port": 22}


def validate(
    spec: Obj, name: str, *, queue: Callable[[str], str], known_plugin: Callable[[str], bool]
) -> str:
    """`queue` says what speaks against a queue; `known_plugin` knows the plugins beyond Volcano's own."""
    listed = spec.get("tasks") or []
    if not listed:
        return "No task specified in job spec"
    plugins = spec.get("plugins") or {}
    if "mpi" in plugins and not _has_master(plugins["mpi"], listed):
        return "The specified mpi master task was not found"
    found = tasks.TIERS if _both_tiers(spec, listed) else ""
    found += _tasks(listed, name)
    if problems := label_syntax.qualified_name(name):
        found += f"create job with name {name} validate failed {gotext.plain(problems)}"
    if sum(task.get("replicas", 0) for task in listed) < spec.get("minAvailable", 0):
        found += " job 'minAvailable' should not be greater than total replicas in tasks;"
    found += policies.validate(spec.get("policies") or (), "spec.policies")
    for plugin in sorted(plugins):
        if plugin not in PLUGINS and not known_plugin(plugin):
            found += f" unable to find job plugin: {plugin};"
    found += job_volumes.validate(spec.get("volumes") or ())
    found += queue(spec.get("queue", ""))
    if not _ordered(listed):
        found += " job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
    return found.strip()


def _tasks(listed: Sequence[Obj], job_name: str) -> str:
    """The complaints of all tasks up to the first name that was there before."""
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
        found += tasks.validate(task, index, job_name)
    return found


def _has_master(arguments: Sequence[str] | None, listed: Sequence[Obj]) -> bool:
    master = goflags.parse(arguments or (), _MPI)["master"]
    return any(task.get("name") == master for task in listed)


def _both_tiers(spec: Obj, listed: Sequence[Obj]) -> bool:
    if tasks.both_tiers(spec.get("networkTopology")):
        return True
    return any(tasks.both_tiers((t.get("partitionPolicy") or {}).get("networkTopology")) for t in listed)


def _ordered(listed: Sequence[Obj]) -> bool:
    """Whether all tasks can have their turn. As upstream counts, a name that is there twice never has."""
    if not any(task.get("dependsOn") for task in listed):
        return True
    waits_for = {t.get("name", ""): (t.get("dependsOn") or {}).get("name") or () for t in listed}
    once = all(len({*others}) == len(others) for others in waits_for.values())
    return once and len(waits_for) == len(listed) and dag.is_acyclic(waits_for)
