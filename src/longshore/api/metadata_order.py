"""Metadata in the order of Kubernetes' type, however it was put together: equal metadata is equal bytes."""

from __future__ import annotations

from functools import cache
from typing import Final

from longshore.api import schema
from longshore.api.types import Obj

_MESSAGE: Final = "meta/v1.ObjectMeta"


def ordered(meta: Obj) -> Obj:
    """A copy of metadata that has been read."""
    return {key: meta[key] for key in _keys() if key in meta}


@cache
def _keys() -> tuple[str, ...]:
    return tuple(schema.message(_MESSAGE).fields)
