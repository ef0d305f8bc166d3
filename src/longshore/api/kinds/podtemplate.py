"""PodTemplates: a pod template with a name of its own."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.defaults.pod import default_pod_template
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation import pod as checks
from longshore.api.warnings import pod as pod_warnings


class PodTemplateStrategy(Strategy):
    has_status: ClassVar[bool] = False
    delete_answers_object: ClassVar[bool] = True

    def default(self, obj: Obj) -> None:
        default_pod_template(obj.setdefault("template", {}))

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return checks.validate_pod_template(obj["template"], "template")

    def warnings_create(self, obj: Obj, ctx: Context) -> list[str]:
        return pod_warnings.pod_template_warnings(obj["template"], None, "template")

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        found = metadata.validate_update_again(new["metadata"], old["metadata"])
        return found + checks.validate_pod_template(new["template"], "template")

    def warnings_update(self, new: Obj, old: Obj, ctx: Context) -> list[str]:
        """Metadata alone is no occasion to warn again."""
        if not self.generation_changed(new, old):
            return []
        return pod_warnings.pod_template_warnings(new["template"], old["template"], "template")

    def generation_changed(self, new: Obj, old: Obj) -> bool:
        return bool(new.get("template") != old.get("template"))
