"""Code that must survive an eviction, a conflict and a 410: each is one line of a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client
from kubernetes import watch as watching
from kubernetes.client.exceptions import ApiException

from longshore.testing import Cluster, Run

watch: Any = watching  # it has no types

# ---- the code under test


def scale(batch: Any, name: str, parallelism: int) -> None:
    """Changes how many pods of a Job run at once; reads and tries again when somebody was quicker."""
    for _ in range(5):
        job = batch.read_namespaced_job(name, "default")
        job.spec.parallelism = parallelism
        try:
            batch.replace_namespaced_job(name, "default", job)
            return
        except ApiException as err:
            if err.status != 409:
                raise
    raise RuntimeError("others are always quicker")


def names_of_pods(core: Any, seen: set[str], at_most: int) -> set[str]:
    """Follows pods until so many were seen; lists again when the server has forgotten where it was."""
    version = core.list_namespaced_pod("default").metadata.resource_version
    while len(seen) < at_most:
        try:
            stream = watch.Watch().stream(
                core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=1
            )
            seen |= {event["object"].metadata.name for event in stream}
        except ApiException as err:
            if err.status != 410:
                raise
            listed = core.list_namespaced_pod("default")
            seen |= {pod.metadata.name for pod in listed.items}
            version = listed.metadata.resource_version
    return seen


# ---- its tests

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: sort}
spec:
  completions: 2
  podReplacementPolicy: Failed
  podFailurePolicy:
    rules:
    - action: Ignore
      onPodConditions: [{type: DisruptionTarget}]
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: example.org/sort}]
"""


@pytest.fixture
def connection(longshore: Cluster) -> Iterator[Any]:
    made = longshore.client("kubernetes")
    yield made
    made.close()


def test_a_conflict_is_tried_again(longshore: Cluster, connection: Any) -> None:
    longshore.pods.default(Run.forever())
    longshore.apply(JOB)
    fault = longshore.faults.conflict(times=2, on="PUT jobs", who="clients")
    scale(client.BatchV1Api(connection), "sort", 2)
    assert fault.happened == 2
    assert len(longshore.list("pods")) == 2


def test_a_410_is_followed_by_a_list(longshore: Cluster, connection: Any) -> None:
    longshore.pods.default(Run.forever())
    core: Any = client.CoreV1Api(connection)
    version = core.list_namespaced_pod("default").metadata.resource_version
    longshore.apply(JOB)
    longshore.faults.compact()
    with pytest.raises(ApiException, match="Expired"):
        next(iter(watch.Watch().stream(core.list_namespaced_pod, "default", resource_version=version)))
    assert len(names_of_pods(core, set(), 0)) == 0
    assert len(names_of_pods(core, {pod["metadata"]["name"] for pod in longshore.list("pods")}, 1)) == 1


def test_an_evicted_pod_is_replaced_and_does_not_count_as_a_failure(longshore: Cluster) -> None:
    longshore.pods.script("sort", Run.forever(), Run("1m"))
    longshore.apply(JOB)
    (pod,) = longshore.list("pods")
    longshore.pods[pod["metadata"]["name"]].evict()
    done = longshore.wait("job/sort", "Complete", timeout="10m")
    assert done["status"]["succeeded"] == 2
    assert not done["status"].get("failed")
    longshore.assert_consistent()
