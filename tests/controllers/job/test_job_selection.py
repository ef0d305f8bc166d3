"""How pods and Jobs find each other by index, and why a sync does not grow with what is counted."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.controllers.job.spec import FINALIZER
from longshore.controllers.job.waking import selector_index
from longshore.controllers.job.waking.ownership import Ownership
from longshore.machinery.informers.cache import Cache, key_of

LABELS = {
    "batch.kubernetes.io/controller-uid": "u",
    "controller-uid": "u",
    "batch.kubernetes.io/job-name": "j",
    "job-name": "j",
}
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}


def a_job(selector: Any = None, name: str = "j", uid: str = "u") -> dict[str, Any]:
    selector = selector or {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    return {"metadata": {"namespace": "ns", "name": name, "uid": uid}, "spec": {"selector": selector}}


def a_pod(phase: str = "Running", *, labels: Any = LABELS, owner: Any = OWNER, **meta: Any) -> dict[str, Any]:
    whole = {"namespace": "ns", "name": "p", "labels": labels, **meta}
    if owner is not None:
        whole["ownerReferences"] = [owner]
    return {"metadata": whole, "status": {"phase": phase}}


JOB = a_job()
MANUAL = a_job({"matchLabels": {"app": "x"}})
OWNED, FAILURES = selector_index.owned_key(JOB), selector_index.counted_failures_key(JOB)


@pytest.mark.parametrize(
    ("pod", "keys"),
    [
        (a_pod(), (OWNED,)),
        (a_pod("Succeeded", finalizers=[FINALIZER]), (OWNED,)),
        (a_pod("Failed", finalizers=[FINALIZER]), (OWNED,)),
        (a_pod("Succeeded"), ()),
        (a_pod("Failed"), (FAILURES,)),
        (a_pod(deletionTimestamp="x"), (OWNED,)),
        (a_pod("Succeeded", labels={**LABELS, "job-name": "other"}), (OWNED,)),
        (a_pod("Succeeded", labels=None), (OWNED,)),
        (a_pod(owner={**OWNER, "kind": "ReplicaSet"}), ()),
        (a_pod(owner=None), (selector_index.orphans_key(MANUAL), selector_index.orphans_key(JOB))),
        (
            a_pod(owner={**OWNER, "controller": False}, labels={"app": "x"}),
            (selector_index.orphans_key(MANUAL),),
        ),
    ],
)
def test_where_a_pod_is_found(pod: dict[str, Any], keys: tuple[str, ...]) -> None:
    assert selector_index.pods_by_job(pod) == keys


def test_the_kinds_of_keys_never_meet() -> None:
    keys = [OWNED, FAILURES, selector_index.orphans_key(JOB), selector_index.orphans_key(MANUAL)]
    assert len(set(keys)) == 4


def test_every_job_that_selects_a_pod_is_found() -> None:
    jobs = Cache({selector_index.JOBS_BY_SELECTOR: selector_index.jobs_by_selector})
    by_expression = a_job({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, "e", "e")
    for job in (
        JOB,
        a_job(None, "k", "other"),
        a_job({"matchLabels": {"app": "x"}}, "m", "m"),
        by_expression,
    ):
        jobs.put(key_of(job), job)
    ownership = Ownership(jobs)

    def selecting(labels: dict[str, str] | None) -> list[str]:
        return sorted(j["metadata"]["name"] for j in ownership.selecting(a_pod(labels=labels)))

    assert selecting(LABELS) == ["j"]
    assert selecting({"app": "x"}) == ["e", "m"]
    assert selecting({**LABELS, "app": "y"}) == ["e", "j"]
    assert selecting({}) == []
    assert selecting(None) == []
