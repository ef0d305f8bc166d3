"""Drops fields of features that are switched off in this version of Kubernetes."""

from __future__ import annotations

from longshore.api import features
from longshore.api.types import Obj


def drop_disabled(spec: Obj) -> None:
    """For a pod spec of any kind."""
    if "schedulingGroup" in spec and not features.is_on(features.WORKLOADS):
        del spec["schedulingGroup"]
    for part in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(part) or ():
            if "stopSignal" in (container.get("lifecycle") or ()):
                del container["lifecycle"]["stopSignal"]
                if not container["lifecycle"]:
                    del container["lifecycle"]
    for volume in spec.get("volumes") or ():
        if projected := volume.get("projected"):
            for source in projected.get("sources") or ():
                source.pop("clusterTrustBundle", None)
                source.pop("podCertificate", None)
