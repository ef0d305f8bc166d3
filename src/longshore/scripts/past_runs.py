"""Makes rules from past runs: pods, or Jobs that have ended. Pure; raises ValueError.

| item | comes from |
| --- | --- |
| a Pod | `longshore get pods -o json`, or kubectl's, of any cluster |
| a run | `longshore history -o json`, or `finishedjobs` of longshore.dev |

Each pod of a Job takes as long as one of its past pods did, and ends as that one ended. All runs of a CronJob
count together. The history knows only how long a whole Job took: that time is divided by the number of
rounds, which is the Job's pods divided by the pods that the manifests let run at once, rounded up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Chance, Run
from longshore.scripts.spreads import OneOf

_JOB_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name", "volcano.sh/job-name")
_SCHEDULED: Final = re.compile(r"(.+)-\d{8,10}")
"""The name of a Job that a CronJob made; it ends in the minute since 1970."""
_CODE: Final = re.compile(r"exit code (\d+)")
_MAX_EXIT_CODE: Final = 255


class _Past(NamedTuple):
    job: str
    """A pattern of the names of Jobs."""
    seconds: float
    code: int
    pods: int = 1


def rules(items: Sequence[Any], objects: Sequence[Obj] = ()) -> list[Rule]:
    """A rule for each Job and each CronJob in the items. Raises ValueError for a malformed item."""
    beside = _parallelism(objects)
    found: dict[str, dict[int, list[_Past]]] = {}
    for number, item in enumerate(items):
        try:
            told = [*_of(item, beside)]
        except ValueError as err:
            raise ValueError(f"items[{number}]: {err}") from None
        for past in told:
            found.setdefault(past.job, {}).setdefault(past.code, []).append(past)
    if not found:
        raise ValueError("no item tells of a pod or a Job that has ended")
    return [Rule(job=job, runs=(_chance(by_code),)) for job, by_code in sorted(found.items())]


def _chance(by_code: Mapping[int, Sequence[_Past]]) -> Chance:
    return Chance(
        *(
            (float(sum(each.pods for each in past)), Run(OneOf(*(each.seconds for each in past)), code))
            for code, past in sorted(by_code.items())
        )
    )


def _of(item: Any, beside: Mapping[str, int]) -> Iterator[_Past]:
    if not isinstance(item, dict):
        raise ValueError(f"{item!r} is neither a pod nor a run")
    return _of_pod(item) if item.get("kind") == "Pod" or "spec" in item else _of_run(item, beside)


def _of_pod(pod: Obj) -> Iterator[_Past]:
    labels = _mapping(_mapping(pod, "metadata"), "labels")
    job = next((_text(labels, name) for name in _JOB_LABELS if name in labels), "")
    statuses = _mapping(pod, "status").get("containerStatuses") or [{}]
    if not isinstance(statuses, list) or not isinstance(statuses[0], dict):
        raise ValueError(f"containerStatuses: {statuses!r} is no list of mappings")
    end = _mapping(_mapping(statuses[0], "state"), "terminated")
    if job and end.get("startedAt") and end.get("finishedAt"):
        yield _Past(_family(job), _seconds(end, "startedAt", "finishedAt"), _code(end))


def _of_run(run: Obj, beside: Mapping[str, int]) -> Iterator[_Past]:
    begun = "begun" if run.get("begun") else "startTime"
    ended = "ended" if run.get("ended") else "endTime"
    name = _text(run, "job") or _text(run, "name")
    if not (run.get(begun) and run.get(ended) and name) or run.get("result") not in ("complete", "failed"):
        return
    job = _family(name)
    good, bad = _count(run, "succeeded"), _count(run, "failed")
    if not good + bad:
        good, bad = (1, 0) if run["result"] == "complete" else (0, 1)
    seconds = _seconds(run, begun, ended) / math.ceil((good + bad) / beside.get(job, 1))
    said = _CODE.search(_text(run, "failure") or _text(run, "lastFailure"))
    if good:
        yield _Past(job, seconds, 0, good)
    if bad:
        code = int(said[1]) if said else 1
        yield _Past(job, seconds, code if 0 < code <= _MAX_EXIT_CODE else 1, bad)


def _mapping(holder: Obj, key: str) -> Obj:
    found = holder.get(key) or {}
    if not isinstance(found, dict):
        raise ValueError(f"{key}: {found!r} is no mapping")
    return found


def _text(holder: Obj, key: str) -> str:
    found = holder.get(key) or ""
    if not isinstance(found, str):
        raise ValueError(f"{key}: {found!r} is no text")
    return found


def _count(holder: Obj, key: str) -> int:
    found = holder.get(key) or 0
    if type(found) is not int or found < 0:
        raise ValueError(f"{key}: {found!r} is no number of pods")
    return found


def _code(end: Obj) -> int:
    found = end.get("exitCode")
    if type(found) is not int or not 0 <= found <= _MAX_EXIT_CODE:
        raise ValueError(f"exitCode: {found!r} is no exit code: a whole number from 0 to {_MAX_EXIT_CODE}")
    return found


def _seconds(holder: Obj, begun: str, ended: str) -> float:
    found = (rfc3339.parse(_text(holder, ended)) - rfc3339.parse(_text(holder, begun))) / SECOND
    if found < 0:
        raise ValueError(f"{ended}: {holder[ended]!r} is before {begun} ({holder[begun]!r})")
    return found


def _family(job: str) -> str:
    """A pattern for this Job's name, or for all Jobs of its CronJob."""
    scheduled = _SCHEDULED.fullmatch(job)
    return f"{scheduled[1]}-*" if scheduled else job


def _parallelism(objects: Sequence[Obj]) -> dict[str, int]:
    """The number of pods of each Job that run at once, by the pattern of the Job's name."""
    found = {}
    for obj in objects:
        name, spec = obj["metadata"].get("name") or "", obj.get("spec")
        if isinstance(spec, dict) and "jobTemplate" in spec:
            template = spec["jobTemplate"]
            name, spec = f"{name}-*", template.get("spec") if isinstance(template, dict) else None
        found[name] = _beside(spec) if isinstance(spec, dict) else 1
    return found


def _beside(spec: Obj) -> int:
    """The number of pods of one Job that run at once. All tasks of a gang do, and so do all pods of a Job
    without completions, which is a work queue. Odd numbers count as 1: the API refuses them later."""
    tasks = spec.get("tasks")
    if isinstance(tasks, list):
        return max(1, sum(_positive(task, "replicas") for task in tasks if isinstance(task, dict)))
    most = _positive(spec, "parallelism")
    return most if spec.get("completions") is None else min(most, _positive(spec, "completions"))


def _positive(holder: Obj, key: str) -> int:
    found = holder.get(key)
    return found if type(found) is int and found > 0 else 1
