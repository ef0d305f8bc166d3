"""Files of the machine's /tmp that a container names and does not see, because it has a /tmp of its own."""

from __future__ import annotations

import os
import re
from typing import Final

from longshore.api.facts import own_names
from longshore.api.types import Obj

_TMP: Final = "/tmp"
_PATH: Final = re.compile(r"(?<![\w./-])/tmp/[\w.+@%/-]+")
_PARTS: Final = ("initContainers", "containers", "ephemeralContainers")


def warning(pod_spec: Obj) -> str:
    """A sentence about the first such file in a command or as a working directory; empty for none."""
    for part in _PARTS:
        for container in pod_spec.get(part) or ():
            shown = [os.path.normpath(mount["mountPath"]) for mount in container.get("volumeMounts") or ()]
            for path in _named(container):
                if not _below(path, shown) and os.path.lexists(path):
                    return (
                        f"container {container['name']} has a {_TMP} of its own and does not see {path} of "
                        f"this machine; mount it with a hostPath volume, or annotate the pod with "
                        f"{own_names.ISOLATION}: process"
                    )
    return ""


def _named(container: Obj) -> list[str]:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    words.append(container.get("workingDir") or "")
    return [os.path.normpath(path) for word in words if _TMP in word for path in _PATH.findall(word)]


def _below(path: str, tops: list[str]) -> bool:
    return any(path == top or path.startswith(f"{top}/") for top in tops)
