"""Rules from runs that really were: pods, or Jobs that have ended. Pure; raises ValueError.

| item | comes from |
| --- | --- |
| a Pod | `longshore get pods -o json`, or kubectl's, of any cluster |
| a run | `longshore history -o json`, or `finishedjobs` of longshore.dev |

Each pod of a Job takes as long as one of its past pods did, and ends as that one ended. All runs of a CronJob
count together. Of a Job in the history only the whole time is known: it is shared out to as many pods, one
after the other, as the Job of the manifests lets run beside each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.testing.pod_outcomes import Chance, Run
from longshore.testing.scripts import Rule
from longshore.testing.spreads import OneOf

_JOB_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name", "volcano.sh/job-name")
_SCHEDULED: Final = re.compile(r"(.+)-\d{8,10}")
"""The name of a Job that a CronJob made: its minute since 1970 is the end of it."""
_CODE: Final = re.compile(r"exit code (\d+)")


class _Past(NamedTuple):
    job: str
    """A pattern of the names of Jobs."""
    seconds: float
    code: int
    pods: int = 1


def rules(items: Sequence[Obj], objects: Sequence[Obj] = ()) -> list[Rule]:
    """A rule for each Job, and for each CronJob, of which the items tell."""
    beside = _parallelism(objects)
    found: dict[str, dict[int, list[_Past]]] = {}
    for item in items:
        for past in _of_pod(item) if item.get("kind") == "Pod" or "spec" in item else _of_run(item, beside):
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


def _of_pod(pod: Obj) -> Iterator[_Past]:
    labels = pod["metadata"].get("labels") or {}
    job = next((labels[name] for name in _JOB_LABELS if name in labels), "")
    statuses: Sequence[Obj] = (pod.get("status") or {}).get("containerStatuses") or ({},)
    end = (statuses[0].get("state") or {}).get("terminated") or {}
    if job and end.get("startedAt") and end.get("finishedAt"):
        seconds = rfc3339.seconds(end["finishedAt"]) - rfc3339.seconds(end["startedAt"])
        yield _Past(_family(job), seconds, end["exitCode"])


def _of_run(run: Obj, beside: Mapping[str, int]) -> Iterator[_Past]:
    begun, ended = run.get("begun") or run.get("startTime"), run.get("ended") or run.get("endTime")
    name = run.get("job") or run.get("name")
    if not (begun and ended and name) or run.get("result") not in ("complete", "failed"):
        return
    job = _family(name)
    good, bad = run.get("succeeded") or 0, run.get("failed") or 0
    if not good + bad:
        good, bad = (1, 0) if run["result"] == "complete" else (0, 1)
    turns = math.ceil((good + bad) / beside.get(job, 1))
    seconds = (rfc3339.seconds(ended) - rfc3339.seconds(begun)) / turns
    code = _CODE.search(run.get("failure") or run.get("lastFailure") or "")
    if good:
        yield _Past(job, seconds, 0, good)
    if bad:
        yield _Past(job, seconds, int(code[1]) if code and int(code[1]) else 1, bad)


def _family(job: str) -> str:
    """The Jobs that are like this one, as a pattern."""
    scheduled = _SCHEDULED.fullmatch(job)
    return f"{scheduled[1]}-*" if scheduled else job


def _parallelism(objects: Sequence[Obj]) -> dict[str, int]:
    """How many pods of each Job run beside each other, by the pattern of its name."""
    found = {}
    for obj in objects:
        name, spec = obj["metadata"].get("name", ""), obj.get("spec") or {}
        if "jobTemplate" in spec:
            name, spec = f"{name}-*", spec["jobTemplate"].get("spec") or {}
        found[name] = max(1, min(spec.get("parallelism") or 1, spec.get("completions") or 1))
    return found
