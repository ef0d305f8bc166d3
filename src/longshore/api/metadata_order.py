"""Puts the keys of metadata into the order of Kubernetes' type, so that equal metadata gives equal bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from longshore.api import schema
from longshore.api.types import Obj

_MESSAGE: Final = "meta/v1.ObjectMeta"


def ordered(meta: Obj) -> Obj:
    """Decoded metadata with its keys in order; `meta` itself if they are in order already."""
    order = _order(tuple(meta))
    return meta if order is None else {key: meta[key] for key in order}


@lru_cache(maxsize=1024)  # objects of one kind have the same few sets of keys
def _order(keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """The keys in the order of the type; None if they are in order already."""
    found = tuple(key for key in schema.message(_MESSAGE).fields if key in keys)
    return None if found == keys else found
