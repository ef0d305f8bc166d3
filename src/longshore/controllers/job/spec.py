"""A Job's spec as the controller reads it, with every default filled in.

The API server sets most defaults; a Job from an older or another server may lack some.
"""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.api.types import Obj
from longshore.controllers.job.ends import failure_policy

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
"""The finalizer of every pod of a Job until the pod is counted, so that no pod vanishes uncounted."""
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
RESERVED_MANAGER: Final = "kubernetes.io/job-controller"
"""Kubernetes' own controller, which also manages Jobs without spec.managedBy."""

_NO_LIMIT: Final = 2**31 - 1


class Spec(msgspec.Struct):
    """The Job's spec. None means that the field is not set."""

    parallelism: int
    completions: int | None
    indexed: bool
    suspended: bool
    deleting: bool
    """Whether the Job itself is being deleted."""
    deadline: int | None
    backoff_limit: int
    per_index: int | None
    """backoffLimitPerIndex."""
    max_failed_indexes: int | None
    failure_rules: list[Obj] | None
    """The rules of the podFailurePolicy, or of a Job without one; None if there are none."""
    success_rules: list[Obj]
    only_replace_failed: bool
    """Whether a pod counts as failed, and is replaced, only once its phase is Failed."""
    restarts_in_place: bool

    @property
    def size(self) -> int:
        """The completions of an Indexed Job, which always sets them."""
        return self.completions or 0


def read(job: Obj) -> Spec:
    """Reads the spec of `job`."""
    spec = job["spec"]
    get = spec.get
    policy = get("podFailurePolicy")
    per_index = get("backoffLimitPerIndex")
    backoff_limit = get("backoffLimit")
    if backoff_limit is None:
        backoff_limit = 6 if per_index is None else _NO_LIMIT
    parallelism = get("parallelism")
    return Spec(
        1 if parallelism is None else parallelism,
        get("completions"),
        get("completionMode") == "Indexed",
        get("suspend") is True,
        "deletionTimestamp" in job["metadata"],
        get("activeDeadlineSeconds"),
        backoff_limit,
        per_index,
        get("maxFailedIndexes"),
        failure_policy.rules_of(job),
        (get("successPolicy") or {}).get("rules") or [],
        policy is not None or get("podReplacementPolicy") == "Failed",
        spec["template"]["spec"].get("restartPolicy") == "OnFailure",
    )


def mode(job: Obj) -> str:
    """Returns the completionMode for metrics."""
    return "Indexed" if job["spec"].get("completionMode") == "Indexed" else "NonIndexed"
