"""The user of a container, and the parts of its securityContext that the process runtime cannot do.

A setting that cannot be honoured is refused (`runAsNonRoot`, a user that longshore cannot become) or named in
a warning: a container of the process runtime without walls (isolation.py) is a process of this machine like
any other.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final

import msgspec

from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.node.preparing import isolation
from longshore.node.preparing.types import CannotPrepare, NodeFacts
from longshore.node.runtime import Rights

_RUNTIMES: Final = ("process", "podman")
_NOTHING: Final[Obj] = {}
_STORAGE: Final = "ephemeral-storage"


class Identity(msgspec.Struct, frozen=True):
    """The user and groups of a container; None for the runtime's default."""

    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] = ()
    read_only_root: bool = False


_ANYBODY: Final = Identity()
_USUAL_RIGHTS: Final = Rights()


def runtime_of(pod: Obj, node: NodeFacts) -> str:
    """The runtime that runs this pod."""
    name = pod["spec"].get("runtimeClassName")
    if not name:
        return node.runtime if node.by_image is None else node.by_image.of(pod)
    runtime = node.classes.runtime(name)
    return runtime if runtime in _RUNTIMES else node.runtime


def identity(spec: Obj, pod: Obj, node: NodeFacts) -> Identity:
    """The user and groups of the container. Raises CannotPrepare if they are impossible or forbidden."""
    pod_spec = pod["spec"]
    own, whole = spec.get("securityContext") or _NOTHING, pod_spec.get("securityContext") or _NOTHING
    if not own and not whole:
        return _ANYBODY
    is_process = runtime_of(pod, node) == "process"
    user, group = _first("runAsUser", own, whole), _first("runAsGroup", own, whole)
    if _first("runAsNonRoot", own, whole):
        _refuse_root(spec, pod, user, node.user if is_process else None)
    if is_process and node.user != 0:
        _refuse_others(spec, node, user, group)
        user = group = None
    extra = [*(whole.get("supplementalGroups") or ())]
    if (fs_group := whole.get("fsGroup")) is not None and fs_group not in extra:
        extra.append(fs_group)
    groups = tuple(extra) if node.user == 0 or not is_process else ()
    return Identity(user, group, groups, bool(own.get("readOnlyRootFilesystem")))


def rights(spec: Obj, pod: Obj) -> Rights:
    """The rights that a container asks podman for."""
    own, whole = spec.get("securityContext") or _NOTHING, pod["spec"].get("securityContext") or _NOTHING
    if not own and not whole:
        return _USUAL_RIGHTS
    capabilities = own.get("capabilities") or _NOTHING
    profile = (own.get("seccompProfile") or whole.get("seccompProfile") or _NOTHING).get("type")
    return Rights(
        privileged=bool(own.get("privileged")),
        add=tuple(capabilities.get("add") or ()),
        drop=tuple(capabilities.get("drop") or ()),
        no_new_privileges=own.get("allowPrivilegeEscalation") is False,
        filtered=profile != "Unconfined",
        non_root=bool(_first("runAsNonRoot", own, whole)),
    )


def _first(key: str, own: Obj, whole: Obj) -> Any:
    value = own.get(key)
    return whole.get(key) if value is None else value


def _refuse_root(spec: Obj, pod: Obj, user: int | None, default: int | None) -> None:
    if user is None and default != 0:
        return
    if user is not None and user != 0:
        return
    meta = pod["metadata"]
    who = f'(pod: "{meta["name"]}_{meta["namespace"]}({meta["uid"]})", container: {spec["name"]})'
    if user is None:
        text = f"container has runAsNonRoot and image will run as root {who}"
    else:
        text = f"container's runAsUser breaks non-root policy {who}"
    raise CannotPrepare("CreateContainerConfigError", text, for_good=True)


def _refuse_others(spec: Obj, node: NodeFacts, user: int | None, group: int | None) -> None:
    for field, wanted, own in (("runAsUser", user, node.user), ("runAsGroup", group, node.group)):
        if wanted is not None and wanted != own:
            raise CannotPrepare(
                "CreateContainerConfigError",
                f"container {spec['name']} asks for {field} {wanted}, but longshore runs as {own} and cannot "
                f"become another; start it as root, use {own}, run the pod with runtimeClassName podman, or "
                "ignore the field with: longshore run --run-as-me",
                for_good=True,
            )


def warnings(pod: Obj, node: NodeFacts, *, strongest: str = "none") -> tuple[str, ...]:
    """The settings that the pod's containers ask for and do not get, a sentence each."""
    spec = pod["spec"]
    if runtime_of(pod, node) != "process":
        return ()
    found: dict[str, None] = {}
    level = isolation.level_of(pod, node, strongest)
    whole = spec.get("securityContext") or _NOTHING
    if whole:
        _common(found, whole, level)
        if node.user != 0 and (whole.get("supplementalGroups") or whole.get("fsGroup") is not None):
            found["supplementalGroups and fsGroup need a longshore that runs as root"] = None
        if whole.get("sysctls"):
            found["sysctls are those of this machine"] = None
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(part) or ():
            if own := container.get("securityContext"):
                _of_container(found, own, level, is_root=node.user == 0)
    if any(
        _STORAGE in ((c.get("resources") or _NOTHING).get("limits") or _NOTHING) for c in spec["containers"]
    ):
        counted = f"logs, emptyDirs and a {_TMP} of its own" if level == "full" else "logs and emptyDirs"
        found[f"limits of {_STORAGE} count {counted}, not other files that a process writes"] = None
    if level == "full" and (hidden := hidden_file_warning(spec)):
        found[hidden] = None
    if spec.get("hostUsers") is False:
        found["hostUsers: false is not honoured: users are those of this machine"] = None
    return tuple(found)


def _common(found: dict[str, None], context: Obj, level: str) -> None:
    for key in ("seccompProfile", "appArmorProfile"):
        kind = (context.get(key) or _NOTHING).get("type")
        is_ours = key == "seccompProfile" and kind == "RuntimeDefault" and level == "full"
        if kind and kind != "Unconfined" and not is_ours:
            found[f"{key} {kind} is not applied"] = None
    if context.get("seLinuxOptions"):
        found["seLinuxOptions are not applied"] = None


def _of_container(found: dict[str, None], own: Obj, level: str, *, is_root: bool) -> None:
    _common(found, own, level)
    capabilities = own.get("capabilities") or _NOTHING
    if capabilities.get("drop") and level == "none":
        found["capabilities are not dropped"] = None
    if capabilities.get("add") and (level == "none" or not is_root):
        found["capabilities are not added"] = None
    if own.get("privileged") and (level == "none" or not is_root):
        found["privileged containers get no more rights than longshore has"] = None
    if own.get("allowPrivilegeEscalation") is False and level == "none":
        found["allowPrivilegeEscalation: false is not enforced"] = None
    if own.get("procMount") == "Unmasked":
        found["procMount is that of this machine"] = None


_TMP: Final = "/tmp"
_PATH: Final = re.compile(r"(?<![\w./-])/tmp/[\w.+@%/-]+")
_PARTS: Final = ("initContainers", "containers", "ephemeralContainers")


def hidden_file_warning(pod_spec: Obj) -> str:
    """A sentence about the first file in the machine's /tmp that a container names and cannot see, or ""."""
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
