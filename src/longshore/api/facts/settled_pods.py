"""Reads from a pod's JSON the few facts that the first list of a store full of settled pods needs.

All other fields, `managedFields` above all, are skipped, so they are neither decoded nor freed again.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

import msgspec

from longshore.api.types import Obj


class _Spec(TypedDict, total=False):
    nodeName: str
    schedulerName: str


class _Status(TypedDict, total=False):
    phase: str


class _Metadata(TypedDict, total=False):
    name: str
    namespace: str
    uid: str
    resourceVersion: str
    deletionTimestamp: str
    deletionGracePeriodSeconds: int
    labels: dict[str, str]
    ownerReferences: list[dict[str, Any]]
    finalizers: list[str]


class _Pod(TypedDict, total=False):
    metadata: _Metadata
    spec: _Spec
    status: _Status


_decode: Final = msgspec.json.Decoder(_Pod).decode


def facts_of(raw: bytes) -> Obj:
    """A stored pod's name, labels, owners, finalizers and deletion, its node and scheduler, and its phase, as
    far as it has them. Takes 3.6 us for a pod of an Indexed Job; reading it whole takes 9, freeing that 7."""
    facts: Any = _decode(raw)
    return facts  # type: ignore[no-any-return] # a TypedDict is a dictionary
