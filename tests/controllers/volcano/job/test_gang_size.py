"""What a Job's PodGroup asks for: members, resources, sub-groups, and when it is rewritten."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.controllers.volcano.job.pods import podgroup


def a_task(name: str, replicas: int, least: int | None = None, cpu: str = "", **more: Any) -> Any:
    container: dict[str, Any] = {"name": "main", "image": "i"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    task = {"name": name, "replicas": replicas, "template": {"spec": {"containers": [container]}}, **more}
    if least is not None:
        task["minAvailable"] = least
    return task


def a_job(*tasks: Any, least: int, **spec: Any) -> Any:
    meta = {"name": "j", "namespace": "ns", "uid": "u", "annotations": {"a": "b"}, "labels": {"c": "d"}}
    return {"metadata": meta, "spec": {"tasks": [*tasks], "minAvailable": least, "queue": "q", **spec}}


@pytest.mark.parametrize(
    ("least", "masters", "workers", "cpu"),
    [
        (2, 1, 2, "100m"),
        (2, 2, 1, "100m"),
        (3, 2, 2, "200m"),
        (3, 1, 1, "200m"),
        (3, 1, 2, "250m"),
        (2, 1, 1, "150m"),
    ],
)
def test_the_least_resources_are_those_of_the_first_pods(
    least: int, masters: int, workers: int, cpu: str
) -> None:
    job = a_job(a_task("master", 2, masters, "50m"), a_task("worker", 2, workers, "100m"), least=least)
    found = podgroup.least_resources(job, {})
    assert found["cpu"] == found["requests.cpu"] == cpu
    assert found["pods"] == found["count/pods"] == str(least)


def test_important_tasks_come_first() -> None:
    low, high = a_task("low", 2, 2, "1"), a_task("high", 2, 2, "2")
    high["template"]["spec"]["priorityClassName"] = "urgent"
    job = a_job(low, high, least=2)
    assert podgroup.least_resources(job, {"urgent": 100})["cpu"] == "4"
    assert podgroup.least_resources(job, {})["cpu"] == "2"


def test_limits_and_extended_resources_are_counted_as_a_quota_would() -> None:
    task = a_task("w", 2)
    amounts = {"cpu": "1", "memory": "1000Mi", "nvidia.com/gpu": "1"}
    task["template"]["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    assert podgroup.least_resources(a_job(task, least=2), {}) == {
        "pods": "2",
        "count/pods": "2",
        "cpu": "2",
        "memory": "2000Mi",
        "nvidia.com/gpu": "2",
        "requests.cpu": "2",
        "requests.memory": "2000Mi",
        "requests.nvidia.com/gpu": "2",
        "limits.cpu": "2",
        "limits.memory": "2000Mi",
    }


def test_a_new_group_has_the_jobs_names_and_owner() -> None:
    group = podgroup.wanted(a_job(a_task("w", 3, 2), a_task("m", 1), least=2), {})
    assert group["metadata"]["name"] == "j-u"
    assert group["metadata"]["annotations"] == {"a": "b"}
    assert group["metadata"]["labels"] == {"c": "d"}
    assert group["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert group["spec"]["minMember"] == 2
    assert group["spec"]["minTaskMember"] == {"w": 2, "m": 1}
    assert group["spec"]["queue"] == "q"


def test_notes_of_the_controller_stay_with_the_job() -> None:
    job = a_job(a_task("w", 1), least=1)
    job["metadata"]["annotations"] = {"longshore.dev/volcano-action": "{}"}
    assert "annotations" not in podgroup.wanted(job, {})["metadata"]


def test_partitions_become_sub_groups() -> None:
    policy = {"totalPartitions": 2, "partitionSize": 3, "minPartitions": 1}
    job = a_job(a_task("w", 6, partitionPolicy=policy), least=3)
    (found,) = podgroup.wanted(job, {})["spec"]["subGroupPolicy"]
    assert (found["name"], found["subGroupSize"], found["minSubGroups"]) == ("w", 3, 1)
    assert found["labelSelector"] == {"matchLabels": {"volcano.sh/task-spec": "w"}}
    assert found["matchLabelKeys"] == ["volcano.sh/partition-id"]
    assert podgroup.task_members(job) == {"w": 3}


def test_a_group_follows_the_sizes_of_its_job_and_nothing_else() -> None:
    old = a_job(a_task("w", 2, 2), least=2)
    group = podgroup.wanted(old, {})
    assert podgroup.updated(group, old, {}) is None
    assert podgroup.updated(group, a_job(a_task("w", 2, 2), least=2) | {"queue": "x"}, {}) is None
    changed = podgroup.updated(group, a_job(a_task("v", 4, 3), least=3, priorityClassName="p"), {})
    assert changed is not None
    assert changed["spec"]["minMember"] == 3
    assert changed["spec"]["priorityClassName"] == "p"
    assert changed["spec"]["minTaskMember"] == {"w": 2, "v": 3}
    assert changed["spec"]["minResources"]["pods"] == "3"


def test_a_job_scaled_to_zero_has_no_minimum_and_needs_nothing() -> None:
    spec = podgroup.wanted(a_job(a_task("w", 0, 0, "1"), least=0), {})["spec"]
    assert "minMember" not in spec
    assert spec["minResources"] == {}
    assert spec["minTaskMember"] == {"w": 0}


def test_a_group_follows_a_job_to_zero_and_back() -> None:
    small, none = a_job(a_task("w", 2, 2, "1"), least=2), a_job(a_task("w", 0, 0, "1"), least=0)
    group = podgroup.wanted(small, {})
    scaled = podgroup.updated(group, none, {})
    assert scaled is not None
    assert "minMember" not in scaled["spec"]
    assert scaled["spec"]["minResources"] == {}
    assert podgroup.updated(scaled, none, {}) is None
    back = podgroup.updated(scaled, small, {})
    assert back is not None
    assert (back["spec"]["minMember"], back["spec"]["minResources"]["cpu"]) == (2, "2")
