"""Whom a container runs as, and what of its securityContext the process engine cannot do.

A wish that would be weakened by silence is refused (`runAsNonRoot`, a user that longshore cannot become)
or said in a warning: a container of the process engine without walls (isolation.py) is a process of this
machine like any other.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from longshore.api.types import Obj
from longshore.node.preparing import hidden_files, isolation
from longshore.node.preparing.types import CannotPrepare, NodeFacts
from longshore.node.runtime import Rights

_ENGINES: Final = ("process", "podman")
_NOTHING: Final[Obj] = {}


class Identity(msgspec.Struct, frozen=True):
    """None means as the engine runs things anyway."""

    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] = ()
    read_only_root: bool = False


_ANYBODY: Final = Identity()
_USUAL_RIGHTS: Final = Rights()


def engine_of(pod: Obj, node: NodeFacts) -> str:
    """The engine that runs this pod."""
    name = pod["spec"].get("runtimeClassName")
    if not name:
        return node.engine if node.by_image is None else node.by_image.of(pod)
    engine = node.classes.engine(name)
    return engine if engine in _ENGINES else node.engine


def identity(spec: Obj, pod: Obj, node: NodeFacts) -> Identity:
    """Who the container runs as. Raises CannotPrepare if that cannot or must not be."""
    pod_spec = pod["spec"]
    own, whole = spec.get("securityContext") or _NOTHING, pod_spec.get("securityContext") or _NOTHING
    if not own and not whole:
        return _ANYBODY
    is_process = engine_of(pod, node) == "process"
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
    raise CannotPrepare("CreateContainerConfigError", text)


def _refuse_others(spec: Obj, node: NodeFacts, user: int | None, group: int | None) -> None:
    for field, wanted, own in (("runAsUser", user, node.user), ("runAsGroup", group, node.group)):
        if wanted is not None and wanted != own:
            raise CannotPrepare(
                "CreateContainerConfigError",
                f"container {spec['name']} asks for {field} {wanted}, but longshore runs as {own} and cannot "
                f"become another; start it as root, use {own}, run the pod with runtimeClassName podman, or "
                "ignore the field with: longshore run --run-as-me",
            )


def warnings(pod: Obj, node: NodeFacts, *, strongest: str = "none") -> tuple[str, ...]:
    """The settings that the pod's containers ask for and do not get, a sentence each."""
    spec = pod["spec"]
    if engine_of(pod, node) != "process":
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
    if level == "full" and (hidden := hidden_files.warning(spec)):
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
