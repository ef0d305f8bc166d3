"""Defaults of a Job. Pod-level defaults are those of every pod template.

The same function runs when a request is decoded and, as upstream does on reading from storage, once
more on the finished object of a create: only then do the generated template labels reach
`metadata.labels` of a Job that has none of its own.
"""

from __future__ import annotations

from typing import Final

from longshore.api.defaults import pod
from longshore.api.types import Obj

_UNLIMITED: Final = 2**31 - 1


def default_job(job: Obj) -> None:
    for rule in JOB_RULES:
        rule(job)


def _default_pods(job: Obj) -> None:
    default_job_spec_pods(job.setdefault("spec", {}))


def _default_spec(job: Obj) -> None:
    spec = job["spec"]
    if "parallelism" not in spec:
        if "completions" not in spec:
            spec["completions"] = 1
        spec["parallelism"] = 1
    if "backoffLimit" not in spec:
        spec["backoffLimit"] = _UNLIMITED if "backoffLimitPerIndex" in spec else 6
    if "completionMode" not in spec:
        spec["completionMode"] = "NonIndexed"
    if "suspend" not in spec:
        spec["suspend"] = False
    if "podReplacementPolicy" not in spec:
        spec["podReplacementPolicy"] = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    if "manualSelector" not in spec:
        spec["manualSelector"] = False


def default_job_metadata(job: Obj) -> None:
    meta = job.setdefault("metadata", {})
    labels = job["spec"]["template"].get("metadata", {}).get("labels")
    if labels and not meta.get("labels"):
        # The very same dict, as upstream shares it: labels generated into the template while the
        # object is being created show on the Job as well.
        meta["labels"] = labels


JOB_RULES: Final = (_default_pods, default_job_metadata, _default_spec)


def default_job_spec_pods(spec: Obj) -> None:
    """Fills in what Jobs inside a CronJob get too: the pod template, and patterns of pod conditions."""
    pod.default_pod_template(spec.setdefault("template", {}))
    policy = spec.get("podFailurePolicy")
    if policy:
        for rule in policy.get("rules") or ():
            for pattern in rule.get("onPodConditions") or ():
                if not pattern.get("status"):
                    pattern["status"] = "True"


# ---- Defaults of a CronJob.
#
# The Job inside is defaulted only as far as its pods go; parallelism and the like are filled in on each
# Job when it is created.


def default_cronjob(cronjob: Obj) -> None:
    spec = cronjob.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    if "suspend" not in spec:
        spec["suspend"] = False
    if "successfulJobsHistoryLimit" not in spec:
        spec["successfulJobsHistoryLimit"] = 3
    if "failedJobsHistoryLimit" not in spec:
        spec["failedJobsHistoryLimit"] = 1
    template = spec.setdefault("jobTemplate", {})
    default_job_spec_pods(template.setdefault("spec", {}))
