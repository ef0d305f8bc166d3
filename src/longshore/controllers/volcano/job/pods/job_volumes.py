"""A Job's volumes: claims to create, claims that must exist, and where pods mount them. Pure functions.

Upstream chooses random names; here names are computed from the Job's UID, so that a controller that died
between creating a claim and recording its name finds the same claim again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Final

from longshore.api.types import Obj
from longshore.controllers.volcano.names import owner_reference

_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_SUFFIX_CHARACTERS: Final = 12
MARKER: Final = "volume-pvc-"


def suffix(*parts: str) -> str:
    """Returns twelve letters and digits that depend only on `parts`."""
    number = int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest())
    letters = []
    for _ in range(_SUFFIX_CHARACTERS):
        number, digit = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[digit])
    return "".join(letters)


def claim_names(job: Obj, index: int) -> Iterator[str]:
    """Yields names to try, one after the other, for the claim of the volume at `index`."""
    meta = job["metadata"]
    attempt = 0
    while True:
        yield f"{meta['name']}-pvc-{suffix(meta['uid'], str(index), str(attempt))}"
        attempt += 1


def claim(job: Obj, name: str, spec: Obj) -> Obj:
    return {
        "metadata": {
            "name": name,
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": [owner_reference(job)],
        },
        "spec": spec,
    }


def missing(name: str) -> str:
    return f"pvc {name} is not found, the job will be in the Pending state until the PVC is created"


def mount(job: Obj, pod: Obj, own: Callable[[Obj, str], list[Obj]]) -> None:
    """Adds the Job's volumes to a new pod. A claim that is listed twice is mounted once."""
    seen: set[str] = set()
    for volume in job["spec"].get("volumes") or ():
        name = volume.get("volumeClaimName") or ""
        if name in seen:
            continue
        seen.add(name)
        called = f"{job['metadata']['name']}-{suffix(job['metadata']['uid'], name)}"
        own(pod["spec"], "volumes").append({"name": called, "persistentVolumeClaim": {"claimName": name}})
        for container in pod["spec"].get("containers") or ():
            own(container, "volumeMounts").append({"name": called, "mountPath": volume["mountPath"]})
