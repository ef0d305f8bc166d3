"""Defaults of a Job. Pod-level defaults are those of every pod template.

The same function runs when a request is decoded and, as upstream does on reading from storage, once
more on the finished object of a create: only then do the generated template labels reach
`metadata.labels` of a Job that has none of its own.
"""

from __future__ import annotations

from typing import Final

from longshore.api.defaults import fill, pod
from longshore.api.types import Obj

_UNLIMITED: Final = 2**31 - 1


def default_job(job: Obj) -> None:
    spec = job.setdefault("spec", {})
    default_job_spec_pods(spec)
    meta = job.setdefault("metadata", {})
    labels = spec["template"].get("metadata", {}).get("labels")
    if labels and not meta.get("labels"):
        # The very same dict, as upstream shares it: labels generated into the template while the
        # object is being created show on the Job as well.
        meta["labels"] = labels
    if "parallelism" not in spec:
        spec.setdefault("completions", 1)
        spec["parallelism"] = 1
    spec.setdefault("backoffLimit", _UNLIMITED if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


def default_job_spec_pods(spec: Obj) -> None:
    """Fills in what Jobs inside a CronJob get too: the pod template, and patterns of pod conditions."""
    pod.default_pod_template(spec.setdefault("template", {}))
    policy = spec.get("podFailurePolicy")
    if policy:
        for rule in policy.get("rules") or ():
            for pattern in rule.get("onPodConditions") or ():
                fill(pattern, status="True")


# ---- Defaults of a CronJob.
#
# The Job inside is defaulted only as far as its pods go; parallelism and the like are filled in on each
# Job when it is created.


def default_cronjob(cronjob: Obj) -> None:
    spec = cronjob.setdefault("spec", {})
    fill(spec, concurrencyPolicy="Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec.setdefault("jobTemplate", {})
    default_job_spec_pods(template.setdefault("spec", {}))
