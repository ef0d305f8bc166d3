"""Changes that `run` makes to pods before they are created: annotations for the node, and users. Pure.

A malformed manifest stays as it is: the server says what is wrong with it.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Final

from longshore.api.facts import own_names
from longshore.api.time import durations
from longshore.api.types import Obj

Change = Callable[[Obj], Obj]
"""A function from a pod or pod template to a changed one."""
COMMAND_PATIENCE_SECONDS, _MANIFEST_PATIENCE_SECONDS = 5.0, 30.0
"""Seconds after which a pod that cannot start has failed. A person waits for a command; for a manifest,
another client may still create what is missing, such as a ConfigMap."""
_MAX_RULES: Final = 20
"""The most rules of a podFailurePolicy that the API allows."""
_IDENTITY: Final = ("runAsUser", "runAsGroup", "fsGroup", "supplementalGroups")


def asked_for(arguments: Namespace, *, logs: bool) -> list[Change]:
    """The changes that the arguments of `run` ask for. With `logs`, output is read while the pods run."""
    marks = {own_names.WHOLE_LOGS: "true"} if logs or arguments.results else {}
    if arguments.results:
        marks[own_names.SEPARATE_STREAMS] = "true"
    if arguments.results or arguments.joblog:
        marks[own_names.EXACT_TIMES] = "true"
    if (patience := unstartable_seconds(arguments)) is not None:
        marks[own_names.FAIL_UNSTARTABLE_AFTER] = durations.text(round(patience * 1e9))
    if arguments.isolation and not arguments.after_dashes:
        marks[own_names.ISOLATION] = arguments.isolation
    changes = [annotated(marks)] if marks else []
    return [*changes, as_me] if arguments.run_as_me else changes


def failing_at_once(obj: Obj) -> Obj:
    """Makes a Job not retry pods that failed because they can never start. A Job whose pods restart their
    containers may have no rules about failures: its controller fails it because of their annotation."""
    spec = obj.get("spec")
    if obj["kind"] != "Job" or not isinstance(spec, dict):
        return obj
    template = spec.get("template")
    if not isinstance(template, dict) or not isinstance(pod := template.get("spec"), dict):
        return obj
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    rules = (spec.get("podFailurePolicy") or {}).get("rules") or []
    if (
        own_names.FAIL_UNSTARTABLE_AFTER not in annotations
        or pod.get("restartPolicy") != "Never"
        or len(rules) >= _MAX_RULES
    ):
        return obj
    action = "FailIndex" if spec.get("backoffLimitPerIndex") is not None else "FailJob"
    rule = {"action": action, "onPodConditions": [{"type": own_names.UNSTARTABLE, "status": "True"}]}
    return {**obj, "spec": {**spec, "podFailurePolicy": {"rules": [*rules, rule]}}}


def unstartable_seconds(arguments: Namespace) -> float | None:
    """Seconds after which a pod that cannot start has failed; None for never."""
    if arguments.no_fail_unstartable:
        return None
    if arguments.fail_unstartable is not None:
        return float(arguments.fail_unstartable)
    return COMMAND_PATIENCE_SECONDS if arguments.after_dashes else _MANIFEST_PATIENCE_SECONDS


def changed(obj: Obj, change: Change) -> Obj:
    """Applies `change` to the pods of a Job, pod or Volcano Job."""
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        return obj
    if obj["kind"] == "Pod":
        return change(obj)
    if isinstance(template := spec.get("template"), dict):
        return {**obj, "spec": {**spec, "template": change(template)}}
    if isinstance(tasks := spec.get("tasks"), list):
        return {**obj, "spec": {**spec, "tasks": [_task(task, change) for task in tasks]}}
    return obj


def annotated(marks: Mapping[str, str]) -> Change:
    """Gives pods these annotations, unless they have one of the same name."""

    def change(template: Obj) -> Obj:
        meta = template.get("metadata") or {}
        annotations = {**marks, **(meta.get("annotations") or {})}
        return {**template, "metadata": {**meta, "annotations": annotations}}

    return change


def as_me(template: Obj) -> Obj:
    """Removes users and groups to run as from a template: its processes run as longshore does."""
    spec = template.get("spec")
    if not isinstance(spec, dict):
        return template
    spec = _without_identity(spec)
    for part in ("initContainers", "containers"):
        if isinstance(containers := spec.get(part), list):
            spec = {**spec, part: [_without_identity(each) for each in containers]}
    return {**template, "spec": spec}


def _task(task: Obj, change: Change) -> Obj:
    if isinstance(task, dict) and isinstance(task.get("template"), dict):
        return {**task, "template": change(task["template"])}
    return task


def _without_identity(part: Obj) -> Obj:
    if not isinstance(part, dict) or not isinstance(context := part.get("securityContext"), dict):
        return part
    left = {key: value for key, value in context.items() if key not in _IDENTITY}
    return {**part, "securityContext": left}
