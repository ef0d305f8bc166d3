"""persistentVolumeClaim volumes: the directory behind a bound claim.

The volume controller binds and provisions; here a pod waits until its claim is bound. Volumes that lie on
this machine can be mounted (hostPath, local), also those that longshore did not make.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names, pod_state
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.node.preparing.environment.sources import Missing
from longshore.node.preparing.types import Volume
from longshore.node.preparing.volumes import hostpath

_PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
_VOLUMES: Final = "volumes"
"""The folder of the data directory with volumes that longshore makes (`up/running.py`)."""


async def prepare(source: Obj, pod: Obj, client: Client, private: Path | None = None) -> tuple[Volume, bool]:
    """The volume behind the claim, and whether its files may be given to the pod's fsGroup. Of the directory
    `private`, only volumes that longshore made there are mounted."""
    namespace = pod["metadata"]["namespace"]
    name = source["claimName"]
    where = f"error processing PVC {namespace}/{name}"
    claim = await _get(client, kinds.CLAIMS, name, namespace, f"{where}: failed to fetch PVC from API server")
    if "deletionTimestamp" in claim["metadata"] and not _has_begun(pod):
        raise Missing(f"{where}: PVC is being deleted")
    if (claim.get("status") or {}).get("phase") != "Bound" or not claim["spec"].get("volumeName"):
        raise Missing(f"{where}: PVC is not bound")
    if claim["spec"].get("volumeMode") == "Block":
        raise Missing(f"{where}: longshore mounts file systems, not block devices")
    bound = claim["spec"]["volumeName"]
    volume = await _get(
        client, kinds.VOLUMES, bound, "", f"{where}: failed to fetch PV {bound} from API server"
    )
    spec = volume["spec"]
    owner = spec.get("claimRef") or {}
    if owner.get("uid") != claim["metadata"]["uid"]:
        raise Missing(f"{where}: PV {bound} is not bound to this PVC")
    if (inner := spec.get("hostPath")) is not None:
        path = hostpath.prepare(inner, _private(inner, private))
    elif (inner := spec.get("local")) is not None:
        path = hostpath.prepare({"path": inner["path"], "type": "Directory"}, _private(inner, private))
    else:
        kind = next((key for key in spec if key not in _NOT_SOURCES), "no")
        raise Missing(f"{where}: PV {bound} has a {kind} source; longshore mounts hostPath and local ones")
    read_only = bool(source.get("readOnly")) or spec.get("accessModes") == ["ReadOnlyMany"]
    ours = (volume["metadata"].get("annotations") or {}).get(_PROVISIONED_BY) == own_names.LOCAL_PROVISIONER
    return Volume(path, read_only), ours or "local" in spec


_NOT_SOURCES: Final = frozenset(
    (
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    )
)


def _private(source: Obj, directory: Path | None) -> Path | None:
    """The directory that a volume must not be in; None for one that longshore made."""
    if directory is None or os.path.dirname(os.path.realpath(source["path"])) == _made_in(directory):
        return None
    return directory


def _made_in(directory: Path) -> str:
    return os.path.realpath(directory / _VOLUMES)


def _has_begun(pod: Obj) -> bool:
    """Whether the pod uses its claims already: then it keeps a claim that is being deleted."""
    return any("containerID" in each for each in pod_state.statuses_of(pod, "containerStatuses"))


async def _get(client: Client, what: tuple[str, str], name: str, namespace: str, where: str) -> Obj:
    try:
        return await client.get(what, name, namespace)
    except (StatusError, Unreachable) as err:
        raise Missing(f"{where}: {err}") from None
