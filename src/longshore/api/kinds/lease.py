"""Leases, for leader election. A PUT creates a missing Lease; else it needs a resourceVersion."""

from __future__ import annotations

from typing import Final

from longshore.api import field, label_syntax
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata


def _validate_create(obj: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    spec = obj["spec"]
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        found.append(field.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    found += field.negative(spec, "spec", "leaseTransitions")
    strategy = spec.get("strategy")
    if strategy is not None:
        # The doubled word is in Kubernetes' own paths.
        path = "spec.strategy.strategy"
        if "/" in strategy:
            found += [field.invalid(path, strategy, text) for text in label_syntax.qualified_name(strategy)]
        elif strategy != "OldestEmulationVersion":
            found.append(field.not_supported(path, strategy, ("OldestEmulationVersion",)))
    if spec.get("preferredHolder") and not strategy:
        text = "may only be specified if `strategy` is defined"
        found.append(field.forbidden("spec.preferredHolder", text))
    return found


STRATEGY: Final = Strategy(
    counts_generation=False,
    has_status=False,
    unconditional_update=False,
    create_on_update=True,
    default=lambda obj: obj.setdefault("spec", {}),
    validate_create=_validate_create,
    validate_update=metadata.again(_validate_create),
)
