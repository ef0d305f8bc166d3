"""Changes of a running Pod by subresources: new ephemeral containers, and other amounts of cpu and memory."""

from __future__ import annotations

from typing import Final

from longshore.api import field, pod_resources, types
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation.pod import pod_annotations, update

_SIZES: Final = ("cpu", "memory")


def validate_ephemeral_containers_update(new: Obj, old: Obj) -> list[FieldError]:
    """Checks that containers are only added and existing ones stay as they are."""
    found = update.validate_changed_pod(new, old)
    if pod_annotations.MIRROR in (old["metadata"].get("annotations") or ()):
        return [field.forbidden("", "static pods do not support ephemeral containers")]
    by_name = {c.get("name"): c for c in new["spec"].get("ephemeralContainers") or ()}
    for before in old["spec"].get("ephemeralContainers") or ():
        name = field.quoted(before.get("name") or "")
        after = by_name.get(before.get("name"))
        if after is None:
            text = f"existing ephemeral containers {name} may not be removed\n"
            found.append(field.forbidden("spec.ephemeralContainers", text))
        elif after != before:
            text = f"existing ephemeral containers {name} may not be changed\n{field.diff(before, after)}"
            found.append(field.forbidden("spec.ephemeralContainers", text))
    return found


def validate_resize(new: Obj, old: Obj) -> list[FieldError]:
    """Checks that only cpu and memory change, that none is removed, and that the QoS class stays."""
    found = update.validate_changed_pod(new, old)
    spec, before = new["spec"], old["spec"]
    if pod_annotations.MIRROR in (old["metadata"].get("annotations") or ()):
        return [field.forbidden("", "static pods cannot be resized")]
    if (before.get("os") or {}).get("name") == "windows":
        return [field.forbidden("", "windows pods cannot be resized")]
    status = old.get("status") or {}
    qos = status.get("qosClass") or pod_resources.qos_class(before)
    if qos != pod_resources.qos_class(spec):
        text = "Pod QOS Class may not change as a result of resizing"
        found.append(field.invalid("spec", (new.get("status") or {}).get("qosClass") or "", text))
    if not _node_can_resize(status):
        found.append(field.forbidden("spec", "Pod running on node without support for resize"))
    if _reordered(spec, before, found):
        return found
    masked = types.copy_of(spec)
    for part in ("initContainers", "containers"):
        for i, was in enumerate(before.get(part) or ()):
            _removed(
                spec[part][i].get("resources") or {}, was.get("resources") or {}, f"spec.{part}[{i}]", found
            )
            _mask(masked[part][i], was)
    _mask(masked, before)
    if found:
        return found
    if update.comparable(masked) != update.comparable(before):
        found.append(field.forbidden("spec", "only cpu and memory resources are mutable"))
    return found


def _node_can_resize(status: Obj) -> bool:
    """Whether the node can resize: such a node reports the resources of its running containers."""
    for container in status.get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            return container.get("resources") is not None
    return True


def _reordered(new: Obj, old: Obj, found: list[FieldError]) -> bool:
    count = len(found)
    for part in ("containers", "initContainers"):
        after, before = new.get(part) or [], old.get(part) or []
        if len(after) != len(before):
            found.append(field.forbidden(f"spec.{part}", f"{part} may not be added or removed on resize"))
            continue
        for i, was in enumerate(before):
            if after[i].get("name") != was.get("name"):
                text = f"{part} may not be renamed or reordered on resize"
                found.append(field.forbidden(f"spec.{part}[{i}].name", text))
    return len(found) > count


def _removed(new: Obj, old: Obj, path: str, found: list[FieldError]) -> None:
    for which in ("requests", "limits"):
        if set(old.get(which) or ()) - set(new.get(which) or ()):
            text = f"resource {which} cannot be removed"
            found.append(field.forbidden(f"{path}.resources.{which}", text))


def _mask(target: Obj, source: Obj) -> None:
    """Gives `target` the amounts (and the resize policy) of `source`."""
    if "resizePolicy" in target or "resizePolicy" in source:
        target["resizePolicy"] = source.get("resizePolicy")
        if target["resizePolicy"] is None:
            del target["resizePolicy"]
    was = source.get("resources")
    mine = target.get("resources")
    if mine is None and was is None:
        return
    merged = dict(mine or {})
    for which in ("limits", "requests"):
        amounts = {k: v for k, v in (merged.get(which) or {}).items() if k not in _SIZES}
        amounts |= {k: v for k, v in ((was or {}).get(which) or {}).items() if k in _SIZES}
        if amounts:
            merged[which] = amounts
        else:
            merged.pop(which, None)
    if merged or was is not None:
        target["resources"] = merged
    else:
        target.pop("resources", None)
