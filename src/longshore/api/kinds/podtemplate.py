"""PodTemplates: a pod template with a name of its own."""

from __future__ import annotations

from typing import Final

from longshore.api.defaults.pod import default_pod_template
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation import pod as checks
from longshore.api.warnings import pod as pod_warnings


def _validate_create(obj: Obj) -> list[FieldError]:
    return checks.validate_pod_template(obj["template"], "template")


def _warnings_update(new: Obj, old: Obj) -> list[str]:
    """Warns only if the template changed, not for changes of metadata."""
    if not _generation_changed(new, old):
        return []
    return pod_warnings.pod_template_warnings(new["template"], old["template"], "template")


def _generation_changed(new: Obj, old: Obj) -> bool:
    return bool(new.get("template") != old.get("template"))


STRATEGY: Final = Strategy(
    has_status=False,
    delete_answers_object=True,
    default=lambda obj: default_pod_template(obj.setdefault("template", {})),
    validate_create=_validate_create,
    warnings_create=lambda obj: pod_warnings.pod_template_warnings(obj["template"], None, "template"),
    validate_update=metadata.again(_validate_create),
    warnings_update=_warnings_update,
    generation_changed=_generation_changed,
)
