"""Pod Security admission: pods that violate the level of their namespace are refused, templates get warnings.

No user, namespace or RuntimeClass is exempt, as by upstream's default.
"""

from __future__ import annotations

from typing import Final

from longshore.api import embedded_pods, errors, field
from longshore.api.pod_security import levels
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.admission.lookup import Get, List, forbidden

_NAMESPACES: Final = "namespaces"
_MAX_CHECKED_PODS: Final = 500
"""Pods that are checked when a namespace gets another level; upstream checks 3,000, in another thread."""


def judge(
    resource: Resource, new: Obj, old: Obj | None, get: Get, namespace: str, subresource: str = ""
) -> list[str]:
    """The warnings about a pod or an object with a pod template. Raises a 403 for a pod that its namespace
    does not allow."""
    if resource.group.endswith(".volcano.sh") or not embedded_pods.may_change(resource.storage, subresource):
        return []
    labels = levels.labels_of(get(_NAMESPACES, "", namespace))
    if levels.is_plain(labels):
        return []
    policy, _ = levels.policy(labels)
    is_pod = resource.storage == "pods"
    if is_pod and old is not None and not _is_significant(new, old):
        return []
    found: list[str] = []
    for pod in embedded_pods.of(resource.storage, new):
        if is_pod and (problems := levels.violations(policy.enforce, pod)):
            why = f"violates PodSecurity {field.quoted(str(policy.enforce))}: {levels.listed(problems)}"
            raise forbidden(resource, new, why)
        if problems := levels.violations(policy.warn, pod):
            level = field.quoted(str(policy.warn))
            found.append(f"would violate PodSecurity {level}: {levels.listed(problems)}")
    return found


def _is_significant(new: Obj, old: Obj) -> bool:
    """Whether an update changes images or adds containers. Other updates cannot change a pod's rights."""
    spec, before = new["spec"], old["spec"]
    for part in ("containers", "initContainers"):
        now, then = spec.get(part) or (), before.get(part) or ()
        if [each.get("image") for each in now] != [each.get("image") for each in then]:
            return True
    known = {each["name"]: each.get("image") for each in before.get("ephemeralContainers") or ()}
    return any(
        each["name"] not in known or each.get("image") != known[each["name"]]
        for each in spec.get("ephemeralContainers") or ()
    )


def judge_namespace(resource: Resource, new: Obj, old: Obj | None, every: List) -> list[str]:
    """The warnings about pods that are in a namespace and violate its new level. Raises a 422 for labels that
    name no level."""
    labels = levels.labels_of(new)
    if levels.is_plain(labels):
        return []
    policy, problems = levels.policy(labels)
    problems += levels.own_problems(labels)
    before, known = levels.policy(levels.labels_of(old))
    known += levels.own_problems(levels.labels_of(old))
    name = new["metadata"]["name"]
    if problems and problems != known:
        raise errors.invalid(resource.group, resource.kind, name, problems)
    wanted, had = policy.enforce, before.enforce
    if old is None or wanted == had or wanted.name == levels.PRIVILEGED:
        return []
    if wanted.version == had.version and wanted.strictness <= had.strictness:
        return []
    return _about_pods(name, wanted, every)


def _about_pods(namespace: str, level: levels.Level, every: List) -> list[str]:
    pods = _first_of_each(sorted(every("pods", namespace), key=lambda pod: str(pod["metadata"]["name"])))
    names: dict[str, list[str]] = {}
    for pod in pods[:_MAX_CHECKED_PODS]:
        if problems := levels.violations(level, pod):
            reasons = ", ".join(each.reason for each in problems)
            names.setdefault(reasons, []).append(pod["metadata"]["name"])
    found = []
    if len(pods) > _MAX_CHECKED_PODS:
        counted = f"the first {_MAX_CHECKED_PODS} of {len(pods)} existing pods"
        found.append(f"new PodSecurity enforce level only checked against {counted}")
    if names:
        found.append(
            f"existing pods in namespace {field.quoted(namespace)} violate the new PodSecurity enforce level "
            f"{field.quoted(str(level))}"
        )
    return found + sorted(f"{_shown(who)}: {reasons}" for reasons, who in names.items())


def _shown(names: list[str]) -> str:
    """`p (and 2 other pods)`."""
    more = len(names) - 1
    return min(names) + (f" (and {more} other pod{'s' if more > 1 else ''})" if more else "")


def _first_of_each(pods: list[Obj]) -> list[Obj]:
    """The pods in the order of the check: first one pod of each controller, then the others."""
    first: list[Obj] = []
    others: list[Obj] = []
    seen = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        owner = next((each["uid"] for each in owners if each.get("controller")), None)
        (others if owner in seen else first).append(pod)
        if owner is not None:
            seen.add(owner)
    return first + others
