"""PersistentVolumeClaims: after creation only the size (upwards), the volume's name and the class change."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.defaults.quantities import round_up, round_up_list
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import persistentvolumeclaim as validation


class PersistentVolumeClaimStrategy(Strategy):
    counts_generation: ClassVar[bool] = False
    delete_answers_object: ClassVar[bool] = True

    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"
        if spec.setdefault("resources", {}):
            round_up(spec["resources"])
        status = obj.get("status") or {}
        if not status.get("phase"):
            obj["status"] = {**status, "phase": "Pending"}
        if status.get("capacity"):
            round_up_list(status["capacity"])

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        obj["status"] = {"phase": "Pending"}
        _agree_on_source(obj["spec"])

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate(obj)

    def prepare_update(self, new: Obj, old: Obj, ctx: Context) -> None:
        super().prepare_update(new, old, ctx)
        _agree_on_source(new["spec"])

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate_update(new, old)

    def validate_status(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate_status(new, old)


def _agree_on_source(spec: Obj) -> None:
    """The old and the new field for the data's source say the same, unless the source is elsewhere."""
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and ref is None:
        spec["dataSourceRef"] = dict(source)
    elif source is None and ref is not None and not ref.get("namespace"):
        spec["dataSource"] = {k: v for k, v in ref.items() if k != "namespace"}
