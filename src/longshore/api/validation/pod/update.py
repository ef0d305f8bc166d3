"""Allowed changes to a Pod once it exists: few, as it may be running already."""

from __future__ import annotations

from typing import Any, Final

from longshore.api import field, quantity, types
from longshore.api.field import FieldError
from longshore.api.types import Obj, keep
from longshore.api.validation import metadata
from longshore.api.validation.pod import containers, pod_annotations, scheduling
from longshore.api.validation.pod.spec import validate_pod

_UPDATABLE: Final = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_MAX_INT32: Final = 2147483647
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def validate_pod_update(new: Obj, old: Obj) -> list[FieldError]:
    new_spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    if new_spec is old_spec and new["metadata"].get("annotations") == old["metadata"].get("annotations"):
        return validate_changed_metadata(new["metadata"], old["metadata"])
    found = validate_changed_pod(new, old)
    for part in ("containers", "initContainers"):
        if _same_containers(new_spec.get(part) or [], old_spec.get(part) or [], f"spec.{part}", found):
            return found
    if _deadline(new_spec.get("activeDeadlineSeconds"), old_spec.get("activeDeadlineSeconds"), found):
        return found
    _only_more_tolerations(new_spec, old_spec, found)
    _only_fewer_gates(new_spec, old_spec, found)
    if new_spec != old_spec:
        _nothing_else(new_spec, old_spec, found)
    return found


def validate_changed_pod(new: Obj, old: Obj) -> list[FieldError]:
    """Checks the rules of any Pod, and that its metadata changed within bounds."""
    found = validate_changed_metadata(new["metadata"], old["metadata"])
    found += validate_pod(new)
    validate_annotation_update(new, old, found)
    return found


def validate_changed_metadata(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new, old)
    return found + metadata.validate_create(new, namespaced=True, name_rule="subdomain", old=old)


def validate_annotation_update(new: Obj, old: Obj, found: list[FieldError]) -> None:
    """Checks annotations that are fixed at creation, then again the rules of those that Kubernetes reads."""
    after = new["metadata"].get("annotations") or {}
    before = old["metadata"].get("annotations") or {}
    path = "metadata.annotations"
    if after or before:
        pod_annotations.validate_annotation_changes(after, before, path, found)
        pod_annotations.validate_annotations(after, new.get("spec") or {}, path, found)


def _same_containers(new: list[Obj], old: list[Obj], path: str, found: list[FieldError]) -> bool:
    """True if containers cannot be compared one by one. Checks that images do not become empty."""
    if len(new) != len(old):
        found.append(field.forbidden(path, "pod updates may not add or remove containers"))
        return True
    for i, container in enumerate(new):
        if not container.get("image"):
            found.append(field.required(f"{path}[{i}].image"))
        containers.validate_image_for_pod(container, f"{path}[{i}]", found)
    return False


def _deadline(new: int | None, old: int | None, found: list[FieldError]) -> bool:
    """Checks that a deadline is set once and then only reduced. True if no further check is needed."""
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            text = "must not update from a positive integer to nil value"
            found.append(field.invalid(path, None, text))
        return False
    if not 0 <= new <= _MAX_INT32:
        found.append(field.invalid(path, new, f"must be between 0 and {_MAX_INT32}, inclusive"))
        return True
    if old is not None and old < new:
        found.append(field.invalid(path, new, "must be less than or equal to previous value"))
        return True
    return False


def _only_more_tolerations(new: Obj, old: Obj, found: list[FieldError]) -> None:
    listed = new.get("tolerations") or []
    bare = [_without_seconds(t) for t in listed]
    if any(_without_seconds(t) not in bare for t in old.get("tolerations") or ()):
        text = "existing toleration can not be modified except its tolerationSeconds"
        found.append(field.forbidden("spec.tolerations", text))
        return
    scheduling.validate_tolerations(listed, "spec.tolerations", found)


def _without_seconds(toleration: Obj) -> Obj:
    return {k: v for k, v in toleration.items() if k != "tolerationSeconds"}


def _only_fewer_gates(new: Obj, old: Obj, found: list[FieldError]) -> None:
    known = {gate.get("name") for gate in old.get("schedulingGates") or ()}
    for i, gate in enumerate(new.get("schedulingGates") or ()):
        if gate.get("name") not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name') or ''}'"
            found.append(field.forbidden(f"spec.schedulingGates[{i}].name", text))


def _nothing_else(new: Obj, old: Obj, found: list[FieldError]) -> None:
    """Restores every field that may change, and refuses any difference that is left."""
    masked = types.copy_of(new)
    for part in ("containers", "initContainers"):
        for container, before in zip(masked.get(part) or (), old.get(part) or (), strict=True):
            keep(container, before, "image")
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        keep(masked, old, key)
    if old.get("terminationGracePeriodSeconds", 0) < 0 and masked.get("terminationGracePeriodSeconds") == 1:
        keep(masked, old, "terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        _gated(masked, old, found)
    if masked != old and comparable(masked) != comparable(old):
        text = f"pod updates may not change fields other than {_UPDATABLE}\n{field.diff(old, masked)}"
        found.append(field.forbidden("spec", text))


def _gated(masked: Obj, old: Obj, found: list[FieldError]) -> None:
    """Checks that node selector and affinity of a gated pod are only narrowed."""
    selector, before = masked.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if selector != before:
        if any(selector.get(key) != value for key, value in before.items()):
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            found.append(field.invalid("spec.nodeSelector", dict(sorted(selector.items())), text))
        keep(masked, old, "nodeSelector")
    node = (masked.get("affinity") or {}).get("nodeAffinity")
    node_before = (old.get("affinity") or {}).get("nodeAffinity")
    if node == node_before:
        return
    _narrowed(node or {}, node_before or {}, found)
    rest = {k: v for k, v in (masked.get("affinity") or {}).items() if k != "nodeAffinity"}
    if node_before is not None:
        masked["affinity"] = {**rest, "nodeAffinity": node_before}
    elif rest or "affinity" in old:
        masked["affinity"] = rest
    else:
        masked.pop("affinity", None)


def _narrowed(new: Obj, old: Obj, found: list[FieldError]) -> None:
    before = (old.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    after = (new.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    if before and len(before) != len(after):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        found.append(field.invalid(path, [_shown_term(t) for t in after] or None, text))
        return
    for i, (term, was) in enumerate(zip(after, before, strict=False)):
        if not _only_adds(term, was):
            text = "only additions are allowed (no mutations or deletions)"
            found.append(field.invalid(f"{path}[{i}]", _shown_term(term), text))


def _only_adds(new: Obj, old: Obj) -> bool:
    parts = ("matchExpressions", "matchFields")
    if not any(old.get(part) for part in parts):
        # An empty term matches nothing; adding to it would widen the choice.
        return not any(new.get(part) for part in parts)
    for part in parts:
        before = old.get(part) or []
        if (new.get(part) or [])[: len(before)] != before:
            return False
    return True


def _shown_term(term: Obj) -> Obj:
    """A node selector term as Kubernetes prints it."""

    def rules(listed: list[Obj] | None) -> list[Obj] | None:
        return listed and [
            {"Key": r.get("key", ""), "Operator": r.get("operator", ""), "Values": r.get("values")}
            for r in listed
        ]

    return {
        "MatchExpressions": rules(term.get("matchExpressions")),
        "MatchFields": rules(term.get("matchFields")),
    }


def comparable(spec: Obj) -> Obj:
    """A copy in which equal amounts compare equal however they are written (`1Gi`, `1073741824`)."""
    copy: Obj = types.copy_of(spec)
    holders = [copy, *(c for _, c in containers.each(copy, ""))]
    lists: list[dict[str, Any]] = [copy.get("overhead") or {}]
    for holder in holders:
        resources = holder.get("resources") or {}
        lists += [resources.get("limits") or {}, resources.get("requests") or {}]
    for amounts in lists:
        for name, text in amounts.items():
            amounts[name] = str(quantity.parse(text).amount.normalize())
    return copy
