"""ResourceQuotas: what is refused, and how status.used moves with every write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.admission import quota


def row(group: str, plural: str) -> Resource:
    return next(r for r in table.RESOURCES if (r.group, r.plural) == (group, plural))


PODS, JOBS = row("", "pods"), row("batch", "jobs")
SERVICES, CLAIMS = row("", "services"), row("", "persistentvolumeclaims")


def nothing(storage: str, namespace: str) -> Iterable[Obj]:
    return ()


def a_quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> Obj:
    out: Obj = {"metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": hard, **spec}}
    if used is not None:
        out["status"] = {"hard": hard, "used": used}
    return out


def a_pod(name: str = "p", phase: str = "Pending", **resources: Any) -> Obj:
    return {
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"containers": [{"name": "c", "resources": resources}]},
        "status": {"phase": phase},
    }


def used_after(charges: list[quota.Charge]) -> dict[str, str]:
    (charge,) = charges
    used: dict[str, str] = charge.status["used"]
    return used


def test_a_pod_beyond_the_limit_is_refused_in_kubernetes_words() -> None:
    with pytest.raises(StatusError) as caught:
        quota.check_create(PODS, a_pod(), [a_quota({"pods": "1"}, {"pods": "1"})], nothing)
    assert caught.value.code == 403
    assert caught.value.message == (
        'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    )


def test_every_exceeded_resource_is_named_in_order() -> None:
    full = a_quota(
        {"requests.memory": "1Gi", "requests.cpu": "1", "pods": "9"},
        {"requests.memory": "1Gi", "requests.cpu": "750m", "pods": "3"},
    )
    pod = a_pod(requests={"cpu": "500m", "memory": "1Mi"})
    with pytest.raises(StatusError) as caught:
        quota.check_create(PODS, pod, [full], nothing)
    assert caught.value.message.endswith(
        "exceeded quota: q, requested: requests.cpu=500m,requests.memory=1Mi, "
        "used: requests.cpu=750m,requests.memory=1Gi, limited: requests.cpu=1,requests.memory=1Gi"
    )


def test_a_quota_on_cpu_or_memory_asks_every_container_for_amounts() -> None:
    limited = a_quota({"limits.cpu": "4", "requests.memory": "1Gi", "pods": "9"}, None)
    with pytest.raises(StatusError) as caught:
        quota.check_create(PODS, a_pod(requests={"cpu": "1"}), [limited], nothing)
    assert caught.value.message == (
        'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: c; requests.memory for: c'
    )


def test_an_admitted_pod_is_counted() -> None:
    limits = {"pods": "5", "requests.cpu": "2", "limits.memory": "4Gi", "count/pods": "9", "secrets": "3"}
    before = {"pods": "1", "requests.cpu": "500m", "limits.memory": "1Gi", "count/pods": "4", "secrets": "1"}
    pod = a_pod(requests={"cpu": "250m"}, limits={"memory": "512Mi"})
    used = used_after(quota.check_create(PODS, pod, [a_quota(limits, before)], nothing))
    assert used == {
        "pods": "2",
        "requests.cpu": "750m",
        "limits.memory": "1536Mi",
        "count/pods": "5",
        "secrets": "1",
    }


def test_objects_of_any_kind_can_be_counted() -> None:
    limited = a_quota({"count/jobs.batch": "1"}, {"count/jobs.batch": "0"})
    job = {"metadata": {"name": "j"}, "spec": {}}
    assert used_after(quota.check_create(JOBS, job, [limited], nothing)) == {"count/jobs.batch": "1"}
    full = a_quota({"count/jobs.batch": "1"}, {"count/jobs.batch": "1"})
    with pytest.raises(
        StatusError, match=r'jobs.batch "j" is forbidden: exceeded quota: q, requested: count/'
    ):
        quota.check_create(JOBS, job, [full], nothing)


def test_a_quota_that_says_nothing_of_the_kind_is_left_alone() -> None:
    assert quota.check_create(JOBS, {"metadata": {}, "spec": {}}, [a_quota({"pods": "0"})], nothing) == []


def test_a_quota_without_a_fitting_status_is_counted_afresh() -> None:
    def stored(storage: str, namespace: str) -> Iterable[Obj]:
        assert namespace == "team"
        return {"pods": [a_pod("a"), a_pod("b", "Succeeded")]}.get(storage, [])

    fresh = a_quota({"pods": "9", "count/pods": "9"})
    assert quota.status_of(fresh, stored)["used"] == {"pods": "1", "count/pods": "2"}
    assert used_after(quota.check_create(PODS, a_pod("n"), [fresh], stored)) == {
        "pods": "2",
        "count/pods": "3",
    }


def test_a_finished_pod_gives_back_all_but_its_place_as_an_object() -> None:
    limits = {"pods": "2", "count/pods": "2", "requests.cpu": "1"}
    full = a_quota(limits, {"pods": "2", "count/pods": "2", "requests.cpu": "1"})
    running, done = (a_pod(phase=p, requests={"cpu": "500m"}) for p in ("Running", "Succeeded"))
    used = used_after(quota.check_update(PODS, done, running, [full], nothing, subresource="status"))
    assert used == {"pods": "1", "count/pods": "2", "requests.cpu": "500m"}


def test_an_update_that_counts_the_same_moves_nothing() -> None:
    full = a_quota({"pods": "1"}, {"pods": "1"})
    assert quota.check_update(PODS, a_pod(phase="Running"), a_pod(), [full], nothing) == []


def test_a_deleted_object_gives_back_what_it_had_and_never_more() -> None:
    limited = a_quota({"pods": "2"}, {"pods": "1"})
    assert used_after(quota.release(PODS, a_pod(), [limited], nothing)) == {"pods": "0"}
    empty = a_quota({"pods": "2"}, {"pods": "0"})
    assert used_after(quota.release(PODS, a_pod(), [empty], nothing)) == {"pods": "0"}


def test_a_fresh_count_does_not_give_back_what_it_has_not_seen() -> None:
    fresh = a_quota({"pods": "9"})
    gone, left = a_pod("gone"), a_pod("left")
    assert used_after(quota.release(PODS, gone, [fresh], lambda s, n: [gone, left])) == {"pods": "1"}
    assert quota.status_of(fresh, lambda s, n: [left] if s == "pods" else [])["used"] == {"pods": "1"}
    assert quota.release(PODS, gone, [fresh], lambda s, n: [left]) == []


def test_a_growing_claim_is_held_to_the_quota() -> None:
    def claim(size: str) -> Obj:
        return {
            "metadata": {"name": "d"},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": size}}},
        }

    name = "fast.storageclass.storage.k8s.io/requests.storage"
    limited = a_quota({"requests.storage": "3Gi", name: "3Gi"}, {"requests.storage": "1Gi", name: "1Gi"})
    used = used_after(quota.check_update(CLAIMS, claim("2Gi"), claim("1Gi"), [limited], nothing))
    assert used == {"requests.storage": "2Gi", name: "2Gi"}
    with pytest.raises(StatusError, match="exceeded quota: q, requested: fast"):
        quota.check_update(CLAIMS, claim("4Gi"), claim("1Gi"), [limited], nothing)


def test_node_ports_and_load_balancers_of_services_are_counted() -> None:
    hard = {"services": "2", "services.nodeports": "5", "services.loadbalancers": "1"}
    service = {"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "ports": [{}, {}]}}
    used = used_after(
        quota.check_create(SERVICES, service, [a_quota(hard, dict.fromkeys(hard, "0"))], nothing)
    )
    assert used == {"services": "1", "services.nodeports": "2", "services.loadbalancers": "1"}


@pytest.mark.parametrize(
    ("scopes", "selector", "pod_spec", "counted"),
    [
        (["Terminating"], None, {"activeDeadlineSeconds": 5}, True),
        (["Terminating"], None, {}, False),
        (["NotTerminating"], None, {}, True),
        (["BestEffort"], None, {}, True),
        (["NotBestEffort"], None, {}, False),
        ([], ("PriorityClass", "In", ["high"]), {"priorityClassName": "high"}, True),
        ([], ("PriorityClass", "In", ["high"]), {"priorityClassName": "low"}, False),
        ([], ("PriorityClass", "NotIn", ["high"]), {}, True),
        ([], ("PriorityClass", "Exists", None), {}, False),
        (["Terminating", "BestEffort"], None, {"activeDeadlineSeconds": 5}, True),
        (
            ["CrossNamespacePodAffinity"],
            None,
            {
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [{"namespaces": ["other"]}]
                    }
                }
            },
            True,
        ),
    ],
)
def test_scopes_narrow_a_quota_to_some_pods(
    scopes: list[str], selector: tuple[str, str, Any] | None, pod_spec: Obj, counted: bool
) -> None:
    spec: Obj = {"scopes": scopes}
    if selector:
        name, operator, values = selector
        term = {"scopeName": name, "operator": operator, "values": values}
        spec["scopeSelector"] = {"matchExpressions": [term]}
    pod = a_pod()
    pod["spec"].update(pod_spec)
    charges = quota.check_create(PODS, pod, [a_quota({"pods": "9"}, {"pods": "0"}, **spec)], nothing)
    assert bool(charges) is counted


def test_a_quota_with_scopes_does_not_look_at_other_kinds() -> None:
    scoped = a_quota({"count/jobs.batch": "0"}, {"count/jobs.batch": "0"}, scopes=["BestEffort"])
    assert quota.check_create(JOBS, {"metadata": {}, "spec": {}}, [scoped], nothing) == []


def test_extended_resources_are_limited_by_their_requests() -> None:
    limited = a_quota({"requests.example.com/gpu": "1"}, {"requests.example.com/gpu": "0"})
    gpu = {"example.com/gpu": "2"}
    with pytest.raises(StatusError, match=r"requested: requests\.example\.com/gpu=2, used"):
        quota.check_create(PODS, a_pod(requests=gpu, limits=gpu), [limited], nothing)
