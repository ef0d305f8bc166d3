"""Pods: the server sets the first status; the spec hardly changes, except by three subresources."""

from __future__ import annotations

from typing import Final

from longshore.api import names
from longshore.api.defaults.pod import default_pod, default_pod_status
from longshore.api.field import FieldError
from longshore.api.kinds.pod_binding import with_condition
from longshore.api.pod_resources import qos_class
from longshore.api.strategy import Context, Strategy, keep_spec
from longshore.api.types import Obj, keep
from longshore.api.validation import pod as checks
from longshore.api.warnings import pod as pod_warnings

_KEPT_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences")


def _prepare_create(obj: Obj, ctx: Context) -> None:
    _merge_label_keys(obj)
    _begin_status(obj, ctx)


def _warnings_create(obj: Obj) -> list[str]:
    return _name_warnings(obj) + pod_warnings.pod_warnings(obj)


def _prepare_status(new: Obj, old: Obj, ctx: Context) -> None:
    """Keeps the spec, and the owners too, which old kubelets used to damage in status writes."""
    keep_spec(new, old)
    keep(new["metadata"], old["metadata"], "ownerReferences")
    before = old.get("status") or {}
    status = dict(new.get("status") or {})
    for key in ("qosClass", "observedGeneration"):
        if not status.get(key):
            keep(status, before, key)
    if status.get("conditions"):
        status["conditions"] = _observed(status["conditions"], before.get("conditions") or [])
    new["status"] = status


def _prepare_subresource(new: Obj, old: Obj, ctx: Context) -> None:
    """`ephemeralcontainers` changes only the ephemeral containers, `resize` only containers' resources."""
    asked, spec = new["spec"], dict(old["spec"])
    if ctx.subresource == "ephemeralcontainers":
        keep(spec, asked, "ephemeralContainers")
    elif not _resized(spec, asked):
        spec = asked
    new["spec"] = spec
    new["status"] = old["status"]
    for key in _KEPT_METADATA:
        keep(new["metadata"], old["metadata"], key)
    if spec != old["spec"]:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _validate_subresource(new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    if ctx.subresource == "ephemeralcontainers":
        return checks.validate_ephemeral_containers_update(new, old)
    return checks.validate_resize(new, old)


def _begin_status(pod: Obj, ctx: Context) -> None:
    spec = pod["spec"]
    status: Obj = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        status["conditions"] = with_condition(
            [],
            "PodScheduled",
            "False",
            now=ctx.now,
            reason="SchedulingGated",
            message="Scheduling is blocked due to non-empty scheduling gates",
        )
    status["qosClass"] = qos_class(spec)
    pod["status"] = status


def _name_warnings(pod: Obj) -> list[str]:
    problems = names.dns1123_label(pod["metadata"]["name"])
    if not problems:
        return []
    return [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
        f"a DNS label is recommended: [{' '.join(problems)}]"
    ]


def _observed(new: list[Obj], old: list[Obj]) -> list[Obj]:
    """Fills in missing `observedGeneration` from the old conditions of the same type."""
    if all(entry.get("observedGeneration") for entry in new):
        return new
    seen: dict[str, list[int]] = {}
    for entry in old:
        seen.setdefault(entry.get("type", ""), []).append(entry.get("observedGeneration") or 0)
    result = []
    for entry in new:
        earlier = seen.get(entry.get("type", ""))
        generation = earlier.pop(0) if earlier else 0
        if generation and not entry.get("observedGeneration"):
            entry = {**entry, "observedGeneration": generation}
        result.append(entry)
    return result


def _resized(spec: Obj, asked: Obj) -> bool:
    """Puts the new resources into `spec`. False if the containers have changed; validation then refuses the
    write."""
    for part in ("containers", "initContainers"):
        mine, theirs = spec.get(part) or [], asked.get(part) or []
        if [c.get("name") for c in mine] != [c.get("name") for c in theirs]:
            return False
        if mine:
            spec[part] = [dict(c) for c in mine]
            for container, wanted in zip(spec[part], theirs, strict=True):
                keep(container, wanted, "resources")
                keep(container, wanted, "resizePolicy")
    keep(spec, asked, "resources")
    return True


def _merge_label_keys(pod: Obj) -> None:
    """Turns `matchLabelKeys` and `mismatchLabelKeys` into expressions with the pod's own label values."""
    spec = pod["spec"]
    if "affinity" not in spec and "topologySpreadConstraints" not in spec:
        return
    labels = pod["metadata"].get("labels") or {}
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge_term(constraint, labels)
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = (spec.get("affinity") or {}).get(kind) or {}
        for weighted in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            _merge_term(weighted.get("podAffinityTerm") or {}, labels)
        for term in rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            _merge_term(term, labels)


def _merge_term(term: Obj, labels: Obj) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for key, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for label in term.get(key) or ():
            if label in labels:
                rule = {"key": label, "operator": operator, "values": [labels[label]]}
                selector.setdefault("matchExpressions", []).append(rule)


STRATEGY: Final = Strategy(
    graceful=True,
    keeps_parts=True,
    delete_answers_object=True,
    default=default_pod,
    default_status=default_pod_status,
    prepare_create=_prepare_create,
    validate_create=checks.validate_pod_create,
    warnings_create=_warnings_create,
    validate_update=checks.validate_pod_update,
    prepare_status=_prepare_status,
    validate_status=checks.validate_pod_status_update,
    prepare_subresource=_prepare_subresource,
    validate_subresource=_validate_subresource,
)
