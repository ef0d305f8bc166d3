"""PersistentVolumes: storage that exists somewhere; its source can never change."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.defaults.pod_volumes import default_volume
from longshore.api.defaults.quantities import round_up_list
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import persistentvolume as validation


class PersistentVolumeStrategy(Strategy):
    counts_generation: ClassVar[bool] = False
    delete_answers_object: ClassVar[bool] = True

    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"
        if spec.get("capacity"):
            round_up_list(spec["capacity"])
        source = validation.source_of(spec)
        if source:
            default_volume(source)
        status = obj.get("status") or {}
        if not status.get("phase"):
            obj["status"] = {**status, "phase": "Pending"}

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": ctx.now}

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate(obj)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate_update(new, old)

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        super().prepare_status(new, old, ctx)
        status, before = dict(new.get("status") or {}), old.get("status") or {}
        moved = status.get("phase") != before.get("phase")
        if moved and status.get("lastPhaseTransitionTime") == before.get("lastPhaseTransitionTime"):
            status["lastPhaseTransitionTime"] = ctx.now
        new["status"] = status

    def validate_status(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return validation.validate_status(new, old)
