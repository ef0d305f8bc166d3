"""Leases, for leader election: a PUT creates a missing one, and must otherwise name the version it saw."""

from __future__ import annotations

from typing import ClassVar

from longshore.api import field, label_syntax
from longshore.api.field import FieldError
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata


class LeaseStrategy(Strategy):
    counts_generation: ClassVar[bool] = False
    has_status: ClassVar[bool] = False
    unconditional_update: ClassVar[bool] = False
    create_on_update: ClassVar[bool] = True

    def default(self, obj: Obj) -> None:
        obj.setdefault("spec", {})

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        seconds = spec.get("leaseDurationSeconds")
        if seconds is not None and seconds <= 0:
            found.append(field.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        transitions = spec.get("leaseTransitions")
        if transitions is not None and transitions < 0:
            found.append(field.invalid("spec.leaseTransitions", transitions, metadata.NOT_NEGATIVE))
        strategy = spec.get("strategy")
        if strategy is not None:
            # The doubled word is in Kubernetes' own paths.
            path = "spec.strategy.strategy"
            if "/" in strategy:
                found += [
                    field.invalid(path, strategy, text) for text in label_syntax.qualified_name(strategy)
                ]
            elif strategy != "OldestEmulationVersion":
                found.append(field.not_supported(path, strategy, ("OldestEmulationVersion",)))
        if spec.get("preferredHolder") and not strategy:
            text = "may only be specified if `strategy` is defined"
            found.append(field.forbidden("spec.preferredHolder", text))
        return found

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        found = metadata.validate_update_again(new["metadata"], old["metadata"])
        return found + self.validate_create(new, ctx)
