"""Pods that cannot start end after a while, and say the way out. Users of manifests can be ignored."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

import pytest
import yaml

from longshore.cli.running import pod_templates
from support.longshore_command import Command

LACKING = {
    "restartPolicy": "Never",
    "containers": [
        {
            "name": "main",
            "image": "host",
            "command": ["true"],
            "envFrom": [{"configMapRef": {"name": "nowhere"}}],
        }
    ],
}


def arguments(**given: Any) -> Namespace:
    usual = {
        "results": None,
        "joblog": None,
        "run_as_me": False,
        "isolation": None,
        "fail_unstartable": None,
        "no_fail_unstartable": False,
        "after_dashes": [],
    }
    return Namespace(**{**usual, **given})


def test_a_pod_of_a_manifest_that_cannot_start_fails_and_says_why(longshore: Command) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lacking"}, "spec": LACKING}
    done = longshore("run", "--fail-unstartable", "0.2s", "-", stdin=json.dumps(pod))
    assert done.exit == 1
    assert "could not start within 200ms" in done.stderr
    assert 'configmap "nowhere" not found' in done.stderr


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({}, 30),
        ({"after_dashes": ["true"]}, 5),
        ({"fail_unstartable": 90.0}, 90),
        ({"no_fail_unstartable": True}, None),
    ],
)
def test_the_patience_with_pods_that_cannot_start(given: dict[str, Any], seconds: float | None) -> None:
    assert pod_templates.unstartable_seconds(arguments(**given)) == seconds


def test_a_manifests_own_patience_counts() -> None:
    (change,) = pod_templates.asked_for(arguments(), logs=True)
    own = {"metadata": {"annotations": {"longshore.dev/fail-unstartable-after": "1h"}}, "spec": {}}
    assert change(own)["metadata"]["annotations"] == {
        "longshore.dev/fail-unstartable-after": "1h",
        "longshore.dev/whole-logs": "true",
    }


def test_a_command_may_wait_for_ever_too(longshore: Command) -> None:
    job = yaml.safe_load(longshore.ok("run", "--dry-run", "--no-fail-unstartable", "--", "true"))
    assert job["spec"]["template"]["metadata"] == {"annotations": {"longshore.dev/isolation": "process"}}


def test_with_run_as_me_pods_have_no_users_of_their_own() -> None:
    context = {"runAsUser": 1000, "runAsGroup": 1000, "runAsNonRoot": True}
    container = {"name": "main", "securityContext": context}
    template = {
        "spec": {
            "securityContext": {"fsGroup": 1, "supplementalGroups": [2], "runAsUser": 3},
            "initContainers": [container],
            "containers": [container, {"name": "plain"}],
        }
    }
    tasks = {
        "kind": "Job",
        "spec": {"tasks": [{"template": template}]},
    }
    job = {"kind": "Job", "spec": {"template": template}}
    left = {
        "securityContext": {},
        "initContainers": [{"name": "main", "securityContext": {"runAsNonRoot": True}}],
        "containers": [{"name": "main", "securityContext": {"runAsNonRoot": True}}, {"name": "plain"}],
    }
    changed = pod_templates.changed(job, pod_templates.as_me)
    assert changed["spec"]["template"]["spec"] == left
    assert pod_templates.changed(tasks, pod_templates.as_me)["spec"]["tasks"][0]["template"]["spec"] == left
    assert pod_templates.as_me in pod_templates.asked_for(arguments(run_as_me=True), logs=False)


@pytest.mark.parametrize(
    "spec", [None, [], {"template": 3}, {"tasks": [None, {"template": []}]}, {"template": {"spec": 3}}]
)
def test_a_malformed_manifest_is_left_to_the_server(spec: Any) -> None:
    job = {"kind": "Job", "spec": spec}
    assert pod_templates.changed(job, pod_templates.as_me) == job


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "a missing executable": {"command": ["/no/such/program"]},
    "an argument that Linux does not take": {"command": ["true", "x" * 200_000]},
    "a user that its own rule forbids": {
        "command": ["true"],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 0},
    },
}


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
@pytest.mark.parametrize("container", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_a_job_whose_pods_can_never_start_fails_with_its_first_pod(
    longshore: Command, container: dict[str, Any], policy: str
) -> None:
    main = {"name": "main", "image": "host", **container}
    template = {"spec": {"restartPolicy": policy, "containers": [main]}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "never"},
        "spec": {"backoffLimit": 6, "template": template},
    }
    done = longshore("run", "-", stdin=json.dumps(job))
    assert done.exit == 1
    assert "0/1 complete, 1 failed)" in done.stderr, done.stderr
    if policy == "OnFailure":
        assert "it can never start, so the Job fails" in done.stderr


def test_a_rule_about_pods_that_never_start_comes_after_a_jobs_own() -> None:
    own = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    marks = {"annotations": {"longshore.dev/fail-unstartable-after": "30s"}}
    template = {"metadata": marks, "spec": {"restartPolicy": "Never"}}

    def rules(**spec: Any) -> Any:
        job = {"kind": "Job", "spec": {"template": template, **spec}}
        return pod_templates.failing_at_once(job)["spec"].get("podFailurePolicy", {}).get("rules")

    pattern = [{"type": "longshore.dev/Unstartable", "status": "True"}]
    assert rules() == [{"action": "FailJob", "onPodConditions": pattern}]
    assert rules(podFailurePolicy={"rules": [own]}) == [own, *rules()]
    assert rules(backoffLimitPerIndex=1) == [{"action": "FailIndex", "onPodConditions": pattern}]
    assert rules(template={**template, "spec": {"restartPolicy": "OnFailure"}}) is None
    assert rules(template={"spec": {"restartPolicy": "Never"}}) is None
