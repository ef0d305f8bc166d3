"""Reports about a pod: what they may say, what they leave alone, what they cannot take back."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.pod.pod_scene import Pods
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.api.validation.pod.status import should_restart

ENDED: Obj = {"terminated": {"exitCode": 1}}
RUNNING: Obj = {"running": {}}


def make(pods: Pods, **spec: Any) -> None:
    spec = {"containers": [{"name": "main", "image": "i:1"}], **spec}
    pods.create({"metadata": {"name": "p", "ownerReferences": []}, "spec": spec})


def report(pods: Pods, **status: Any) -> list[str]:
    try:
        pods.patch("p", {"status": status}, "status")
    except StatusError as error:
        return [f"{c['field']}: {c['message']}" for c in (error.details or {})["causes"]]
    return []


def container(state: Obj, name: str = "main") -> Obj:
    return {"name": name, "state": state, "ready": False, "restartCount": 0, "image": "i", "imageID": ""}


def test_the_class_of_service_is_fixed_and_kept(pods: Pods) -> None:
    make(pods)
    assert report(pods, qosClass="Guaranteed") == [
        'status.qosClass: Invalid value: "Guaranteed": field is immutable'
    ]
    assert report(pods, qosClass=None) == []
    assert pods.stored["p"]["status"]["qosClass"] == "BestEffort"


def test_generations_once_reported_stay(pods: Pods) -> None:
    make(pods)
    conditions = [{"type": "Ready", "status": "True", "observedGeneration": 1}]
    assert report(pods, observedGeneration=1, conditions=conditions) == []
    assert report(pods, observedGeneration=0, conditions=[{"type": "Ready", "status": "False"}]) == []
    status = pods.stored["p"]["status"]
    assert status["observedGeneration"] == 1
    assert status["conditions"][0]["observedGeneration"] == 1
    assert report(pods, observedGeneration=-1) == [
        "status.observedGeneration: Invalid value: -1: must be a non-negative integer"
    ]


def test_owners_do_not_change_with_the_status(pods: Pods) -> None:
    make(pods)
    pods.patch(
        "p", {"metadata": {"ownerReferences": [{"name": "x"}]}, "status": {"phase": "Running"}}, "status"
    )
    assert "ownerReferences" not in pods.stored["p"]["metadata"]


def test_a_bound_pod_is_not_promised_another_node(pods: Pods) -> None:
    make(pods, nodeName="n1")
    assert report(pods, nominatedNodeName="n2") == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
    ]


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Always", 0, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_only_containers_that_restart_come_back(pods: Pods, policy: str, code: int, again: bool) -> None:
    make(pods, restartPolicy=policy)
    report(pods, containerStatuses=[container({"terminated": {"exitCode": code}})])
    problems = report(pods, containerStatuses=[container(RUNNING)])
    refused = [
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    ]
    assert problems == ([] if again else refused)


def test_a_sidecar_restarts_in_a_pod_that_does_not(pods: Pods) -> None:
    inits = [{"name": "side", "image": "i", "restartPolicy": "Always"}, {"name": "once", "image": "i"}]
    make(pods, restartPolicy="Never", initContainers=inits)
    report(pods, initContainerStatuses=[container(ENDED, "side"), container(ENDED, "once")])
    assert report(pods, initContainerStatuses=[container(RUNNING, "side"), container(RUNNING, "once")]) == [
        "status.initContainerStatuses[1].state: Forbidden: may not be transitioned to non-terminated state"
    ]


def test_rules_decide_by_exit_code_before_the_policy() -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    main = {"name": "main", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    spec = {"restartPolicy": "Always", "containers": [main]}
    assert should_restart(main, spec, 42)
    assert not should_restart(main, spec, 1)


def test_one_rule_that_restarts_all_lets_every_container_come_back(pods: Pods) -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    main = {"name": "main", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    make(pods, restartPolicy="Never", containers=[main, {"name": "other", "image": "i"}])
    report(pods, containerStatuses=[container(ENDED), container(ENDED, "other")])
    assert report(pods, containerStatuses=[container(RUNNING), container(RUNNING, "other")]) == []


def test_addresses_are_one_of_each_family(pods: Pods) -> None:
    make(pods)
    assert report(pods, podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}, {"ip": "::1"}]) == []
    assert report(pods, podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]) == [
        'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one '
        "IP for "
        "each IP family"
    ]
    assert report(pods, podIP="nope", podIPs=[{"ip": "nope"}]) == [
        'status.podIPs[0]: Invalid value: "nope": must be a valid IP address, (e.g. 10.9.8.7 or '
        "2001:db8::ffff)"
    ]
    assert report(pods, hostIP="10.0.0.1", hostIPs=[{"ip": "10.0.0.2"}]) == [
        'status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`'
    ]
