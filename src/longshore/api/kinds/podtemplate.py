"""PodTemplates: a pod template with a name of its own."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.defaults.pod import default_pod_template
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata


class PodTemplateStrategy(Strategy):
    has_status: ClassVar[bool] = False

    def default(self, obj: Obj) -> None:
        default_pod_template(obj.setdefault("template", {}))

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return metadata.validate_update_again(new["metadata"], old["metadata"])

    def generation_changed(self, new: Obj, old: Obj) -> bool:
        return bool(new.get("template") != old.get("template"))
