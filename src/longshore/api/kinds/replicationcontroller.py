"""ReplicationControllers: stored and served for clients that know them; nothing here runs them."""

from __future__ import annotations

from typing import Final

from longshore.api import field
from longshore.api.defaults.pod import default_pod_template
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy, starts_with
from longshore.api.types import Obj
from longshore.api.validation import metadata, pod

_COUNTS: Final = (
    "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
)  # fmt: skip


def _default(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    template = spec.get("template")
    labels = ((template or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        meta = obj.setdefault("metadata", {})
        if not meta.get("labels"):
            meta["labels"] = dict(labels)
    if spec.get("replicas") is None:
        spec["replicas"] = 1
    if template is not None:
        default_pod_template(template)
    if (obj.get("status") or {}).get("replicas") is None:
        obj["status"] = {**(obj.get("status") or {}), "replicas": 0}


def _validate_create(obj: Obj) -> list[FieldError]:
    spec = obj["spec"]
    found = field.negative(spec, "spec", "minReadySeconds")
    selector, template = spec.get("selector"), spec.get("template")
    if not selector:
        found.append(field.required("spec.selector"))
    found += field.negative(spec, "spec", "replicas")
    if template is None:
        return [*found, field.required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and not selector.items() <= labels.items():
        text = "`selector` does not match template `labels`"
        found.append(field.invalid("spec.template.metadata.labels", labels, text))
    found += pod.validate_pod_template(template, "spec.template")
    policy = template["spec"]["restartPolicy"]
    if policy != "Always":
        found.append(field.not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if template["spec"].get("activeDeadlineSeconds") is not None:
        text = "activeDeadlineSeconds in ReplicationController is not Supported"
        found.append(field.forbidden("spec.template.spec.activeDeadlineSeconds", text))
    return found


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    status = new["status"]
    found += field.negative(status, "status", *_COUNTS)
    for key in _COUNTS[1:4]:
        if status.get(key, 0) > status["replicas"]:
            text = "cannot be greater than status.replicas"
            found.append(field.invalid(f"status.{key}", status[key], text))
    if status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
        text = "cannot be greater than readyReplicas"
        found.append(field.invalid("status.availableReplicas", status["availableReplicas"], text))
    return found


STRATEGY: Final = Strategy(
    default_propagation="Orphan",
    default=_default,
    prepare_create=starts_with({"replicas": 0}),
    validate_create=_validate_create,
    validate_update=metadata.again(_validate_create),
    validate_status=_validate_status,
)
