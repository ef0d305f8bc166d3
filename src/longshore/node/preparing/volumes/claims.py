"""persistentVolumeClaim volumes: the directory behind a bound claim.

Binding and provisioning are the volume controller's; here a claim is bound or the pod waits. Volumes that
lie on this machine can be mounted (hostPath, local), whoever made them.
"""

from __future__ import annotations

from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.node.preparing.environment.sources import Missing
from longshore.node.preparing.types import Volume
from longshore.node.preparing.volumes import hostpath

_PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"


async def prepare(source: Obj, pod: Obj, client: Client) -> tuple[Volume, bool]:
    """The volume behind the claim, and whether its files may be given to the pod's fsGroup."""
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
        path = hostpath.prepare(inner)
    elif (inner := spec.get("local")) is not None:
        path = hostpath.prepare({"path": inner["path"], "type": "Directory"})
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


def _has_begun(pod: Obj) -> bool:
    """Whether the pod uses its claims already: one that is being deleted stays for those that do."""
    return any("containerID" in s for s in (pod.get("status") or {}).get("containerStatuses") or ())


async def _get(client: Client, what: tuple[str, str], name: str, namespace: str, where: str) -> Obj:
    try:
        return await client.get(what, name, namespace)
    except (StatusError, Unreachable) as err:
        raise Missing(f"{where}: {err}") from None
