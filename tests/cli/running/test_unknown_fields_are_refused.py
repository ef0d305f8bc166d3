"""`longshore run FILE` refuses a field that the kind does not have, as kubectl does, and starts nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.longshore_command import Command

SPEC: dict[str, Any] = {
    "template": {
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "i", "command": ["touch", "started"]}],
        }
    }
}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": SPEC}
CRONJOB = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "x"},
    "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": SPEC}},
}
VCJOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "x"},
    "spec": {"minAvailable": 1, "tasks": [{"name": "main", "replicas": 1, **SPEC}]},
}


def with_field(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return {**manifest, "spec": {**manifest["spec"], name: 3}}


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        (with_field(JOB, "completion"), "spec.completion"),
        (with_field(CRONJOB, "suspended"), "spec.suspended"),
        (
            {**CRONJOB, "spec": {**CRONJOB["spec"], "jobTemplate": {"spec": {**SPEC, "completion": 3}}}},
            "spec.jobTemplate.spec.completion",
        ),
        (with_field(VCJOB, "minAvailabel"), "spec.minAvailabel"),
    ],
)
def test_an_unknown_field_is_named_and_nothing_is_started(
    longshore: Command, manifest: dict[str, Any], field: str
) -> None:
    (longshore.home / "x.json").write_text(json.dumps(manifest))
    done = longshore("run", "x.json")
    assert done.exit == 2, done
    assert f'unknown field "{field}"' in done.stderr
    assert not (longshore.home / "started").exists()
