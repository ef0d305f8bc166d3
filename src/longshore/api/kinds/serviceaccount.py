"""ServiceAccounts: identities of pods. Of references to secrets only the name is kept."""

from __future__ import annotations

from typing import Final

from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata


def _keep_names(obj: Obj) -> None:
    if obj.get("secrets"):
        obj["secrets"] = [{"name": s["name"]} if s.get("name") else {} for s in obj["secrets"]]


STRATEGY: Final = Strategy(
    counts_generation=False,
    has_status=False,
    delete_answers_object=True,
    prepare_create=lambda obj, ctx: _keep_names(obj),
    prepare_update=lambda new, old: _keep_names(new),
    validate_update=metadata.again(lambda obj: [], namespaced=True),
)
