"""podFailurePolicy: finds the first rule that matches a failed pod, and its action.

Kubernetes allows a policy only if pods have `restartPolicy: Never`. If a Job's containers are restarted and
its pods have the annotation `longshore.dev/fail-unstartable-after`, one pod that never starts fails the Job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from longshore.api.facts import own_names, pod_state
from longshore.api.types import Obj

_ACTIONS: Final = ("FailJob", "FailIndex", "Ignore", "Count")


class FailureVerdict(NamedTuple):
    """The rule that matched. `action` is empty if none did; the failure then counts as usual."""

    action: str = ""
    rule: int = -1
    """The place of the rule in the policy; -1 for the rule of a Job without a policy."""
    because: str = ""
    """The pod's failure in Kubernetes' words: `Container main for pod ns/p failed with exit code 3`."""

    @property
    def counted(self) -> bool:
        return self.action != "Ignore"

    @property
    def message(self) -> str:
        """The Job's failure message. Only for FailJob."""
        if self.rule < 0:
            return f"{self.because}, so no other pod of the Job would start"
        return f"{self.because} matching FailJob rule at index {self.rule}"


NO_RULE: Final = FailureVerdict()
_NEVER_STARTS: Final = {
    "action": "FailJob",
    "onPodConditions": [{"type": own_names.UNSTARTABLE, "status": "True"}],
}
_WITHOUT_POLICY: Final = [_NEVER_STARTS]


def rules_of(job: Obj) -> list[Obj] | None:
    """Returns the rules about the Job's failed pods; None without any."""
    policy = job["spec"].get("podFailurePolicy")
    if policy is not None:
        return policy.get("rules") or []
    template = job["spec"]["template"]
    annotations = (template.get("metadata") or {}).get("annotations")
    if not annotations or own_names.FAIL_UNSTARTABLE_AFTER not in annotations:
        return None
    return _WITHOUT_POLICY if template["spec"].get("restartPolicy") == "OnFailure" else None


def judge(rules: Sequence[Obj] | None, pod: Obj) -> FailureVerdict:
    """Returns the verdict on a failed pod. Skips rules with an unknown action."""
    for at, rule in enumerate(rules or ()):
        if rule.get("action") not in _ACTIONS:
            continue
        if (codes := rule.get("onExitCodes")) is not None:
            because = _by_exit_code(codes, pod)
        else:
            because = _by_condition(rule.get("onPodConditions") or (), pod)
        if because:
            return FailureVerdict(rule["action"], -1 if rule is _NEVER_STARTS else at, because)
    return NO_RULE


def may_fail_job(rules: Sequence[Obj] | None) -> bool:
    return any(rule.get("action") == "FailJob" for rule in rules or ())


def _by_exit_code(requirement: Obj, pod: Obj) -> str:
    only = requirement.get("containerName")
    for container in pod_state.statuses_of(pod, "containerStatuses", "initContainerStatuses"):
        ended = (container.get("state") or {}).get("terminated")
        if ended is None or (only is not None and container["name"] != only):
            continue
        code = ended.get("exitCode") or 0
        if code != 0 and _listed(requirement, code):
            return f"Container {container['name']} for pod {_name(pod)} failed with exit code {code}"
    return ""


def _listed(requirement: Obj, code: int) -> bool:
    match requirement.get("operator"):
        case "In":
            return code in requirement["values"]
        case "NotIn":
            return code not in requirement["values"]
    return False


def _by_condition(patterns: Sequence[Obj], pod: Obj) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        for pattern in patterns:
            if condition["type"] == pattern["type"] and condition["status"] == pattern.get("status", "True"):
                return f"Pod {_name(pod)} has condition {condition['type']}"
    return ""


def _name(pod: Obj) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
