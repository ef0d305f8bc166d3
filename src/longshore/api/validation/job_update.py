"""Checks of a change to a Job: fields that are fixed, and fields that a suspended Job may still change.

Kubernetes checks the new object in full, then the change, and in between the spec once more; each
problem of the spec is therefore reported twice.
"""

from __future__ import annotations

from typing import Any, Final

from longshore.api import field, job_labels
from longshore.api.field import FieldError
from longshore.api.types import Obj, keep
from longshore.api.validation import internal, job, metadata

_SCHEDULING: Final = ("nodeSelector", "tolerations", "schedulingGates")


def validate_job_update(new: Obj, old: Obj) -> list[FieldError]:
    """All problems of an update of the main resource, after those that the registry finds itself."""
    meta, old_meta = new["metadata"], old["metadata"]
    spec, old_spec = new["spec"], old["spec"]
    found = metadata.validate_create(meta, namespaced=True, name_rule="subdomain", old=old_meta)
    given = (old_spec["template"].get("metadata") or {}).get("labels") or {}
    prefixed = job_labels.JOB_NAME in given and job_labels.CONTROLLER_UID in given
    found += job.validate_generated_selector(new, prefixed_labels=prefixed)
    spec_problems = [] if spec == old_spec else job.validate_job_spec(spec, "spec", old=old_spec)
    found += spec_problems
    found += job.validate_last_hostname(new)
    found += metadata.validate_update_again(meta, old_meta)
    found += spec_problems
    if spec != old_spec:
        found += _changes(spec, old_spec, template_is_open=template_is_open(old))
    return found


def template_is_open(old: Obj) -> bool:
    """Whether the pod template may change in part: the Job is suspended and no pod of it exists. Only the
    stored Job decides, so that one write can change the template and resume."""
    status = old.get("status") or {}
    if not old["spec"].get("suspend") or status.get("active"):
        return False
    return "startTime" not in status or is_true(status, "Suspended")


def is_true(status: Obj, condition: str) -> bool:
    """Whether some condition of this type has status True."""
    return any(
        c.get("type") == condition and c.get("status") == "True" for c in status.get("conditions") or ()
    )


def _changes(spec: Obj, old: Obj, *, template_is_open: bool) -> list[FieldError]:
    found = _completions(spec, old)
    _fixed(found, spec, old, "selector", job.shown_selector)
    if template_is_open:
        found += _open_template(spec["template"], old["template"])
    else:
        _fixed(found, spec, old, "template", internal.go_template)
    _fixed(found, spec, old, "completionMode")
    _fixed(found, spec, old, "podFailurePolicy", internal.go_shaped)
    _fixed(found, spec, old, "backoffLimitPerIndex")
    _fixed(found, spec, old, "managedBy")
    _fixed(found, spec, old, "successPolicy", internal.go_shaped)
    return found


def _fixed(found: list[FieldError], spec: Obj, old: Obj, key: str, shown: Any = lambda value: value) -> None:
    if spec.get(key) != old.get(key):
        found.append(field.invalid(f"spec.{key}", shown(spec.get(key)), field.IMMUTABLE))


def _completions(spec: Obj, old: Obj) -> list[FieldError]:
    value = spec.get("completions")
    if value == old.get("completions"):
        return []
    if spec.get("completionMode") != "Indexed":
        return [field.invalid("spec.completions", value, field.IMMUTABLE)]
    if value is None or value == spec.get("parallelism"):
        return []  # another check reports that Indexed Jobs need completions
    text = "can only be modified in tandem with spec.parallelism"
    return [field.invalid("spec.completions", value, text)]


def _open_template(template: Obj, old: Obj) -> list[FieldError]:
    """Refuses changes to an open template, except to metadata, scheduling directives, and resources of a
    container that kept its name and place."""
    spec, was = template.get("spec") or {}, dict(old.get("spec") or {})
    for key in _SCHEDULING:  # set to the new value, so that the comparison ignores it
        keep(was, spec, key)
    _take_node_affinity(was, spec)
    for key in ("containers", "initContainers"):
        _take_resources(was, spec, key)
    if spec == was:
        return []
    return [field.invalid("spec.template.spec", internal.go_shaped(spec), field.IMMUTABLE)]


def _take_node_affinity(was: Obj, spec: Obj) -> None:
    if "affinity" in spec:
        was["affinity"] = dict(was.get("affinity") or {})
        keep(was["affinity"], spec["affinity"], "nodeAffinity")
    elif not was.get("affinity", {}).keys() - {"nodeAffinity"}:
        was.pop("affinity", None)


def _take_resources(was: Obj, spec: Obj, key: str) -> None:
    before, after = was.get(key) or [], spec.get(key) or []
    if [c.get("name") for c in before] != [c.get("name") for c in after]:
        return
    if before:
        was[key] = [dict(c) for c in before]
        for container, changed in zip(was[key], after, strict=True):
            keep(container, changed, "resources")
