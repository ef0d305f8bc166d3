"""Which replicas live, as one of them sees it: by changes of their Leases and its own clock alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from longshore.api.types import Obj


class _Sighting(NamedTuple):
    lease: object
    """The Lease's spec as last seen; None when there was none."""
    at: float
    """When it was first seen so."""


class Sightings:
    """Replicas by identity. One is gone when its Lease did not change for `duration` seconds.

    A look counts from when it was asked for, a change from when its answer had come: nobody is taken for gone
    before his renewal could have been seen. A replica whose Lease somebody deleted has as long as any other.
    """

    def __init__(self, duration: float) -> None:
        self._duration = duration
        self._seen: dict[str, _Sighting] = {}

    def look(self, leases: Iterable[Obj], holders: Iterable[str], asked: float, answered: float) -> set[str]:
        """The replicas that live, by the Leases of replicas and the holders that Leases of shards name."""
        specs = {spec["holderIdentity"]: spec for spec in map(_spec, leases) if spec.get("holderIdentity")}
        absent = dict.fromkeys(who for who in holders if who and who not in specs)
        for who, spec in [*specs.items(), *absent.items()]:
            before = self._seen.get(who)
            if before is None or (spec is not None and before.lease != spec):
                self._seen[who] = _Sighting(spec, answered)
        for who in [who for who in self._seen if who not in specs and who not in absent]:
            del self._seen[who]
        return {who for who, sighting in self._seen.items() if asked - sighting.at < self._duration}

    def silence(self, who: str, now: float) -> float:
        """Seconds since somebody's Lease last changed."""
        return now - self._seen[who].at if who in self._seen else 0.0


def _spec(lease: Obj) -> Obj:
    spec: Obj = lease.get("spec") or {}
    return spec
