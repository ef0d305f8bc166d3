"""Checks of a Pod's status as a node reports it, also against the status before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api import field, identifiers, label_syntax, names
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import metadata
from longshore.api.validation.pod import update

_SYSTEM_CONDITIONS: Final = frozenset(("PodScheduled", "Ready", "Initialized"))
_GENERATION: Final = "must be a non-negative integer"
_RESTARTED: Final = "may not be transitioned to non-terminated state"
_HEALTH: Final = ("Healthy", "Unhealthy", "Unknown")
_MAX_ID: Final = 2147483647
_MAX_IMAGE_REF_CHARACTERS: Final = 256
_ADDRESSES: Final = ("podIPs", "hostIP", "hostIPs")
_PARTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def validate_pod_status_update(new: Obj, old: Obj) -> list[FieldError]:
    """All problems of a new status. Parts that have not changed have passed before."""
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    if new["metadata"].get("annotations") is not old["metadata"].get("annotations"):
        update.validate_annotation_update(new, old, found)
    after, before = new.get("status") or {}, old.get("status") or {}
    changed = {key for key, value in after.items() if key not in before or before[key] != value}
    changed.update(key for key in before if key not in after)
    spec = old.get("spec") or {}
    if "conditions" in changed:
        known = before.get("conditions") or ()
        for i, condition in enumerate(after.get("conditions") or ()):
            if condition not in known:
                _condition(condition, f"status.conditions[{i}]", found)
    if "nominatedNodeName" in changed:
        _nominated(after.get("nominatedNodeName") or "", before.get("nominatedNodeName") or "", spec, found)
    if "observedGeneration" in changed and (seen := after.get("observedGeneration") or 0) < 0:
        found.append(field.invalid("status.observedGeneration", seen, _GENERATION))
    if "qosClass" in changed and (qos := after.get("qosClass") or "") != (before.get("qosClass") or ""):
        found.append(field.invalid("status.qosClass", qos, "field is immutable"))
    _restarts(after, before, spec, found)
    if "resourceClaimStatuses" in changed:
        _claims(after.get("resourceClaimStatuses") or (), spec, found)
    if not changed.isdisjoint(_ADDRESSES):
        _addresses(after, before, found)
    for part in _PARTS:
        if part in changed:
            known = before.get(part) or ()
            for i, status in enumerate(after.get(part) or ()):
                if status not in known:
                    _container(status, spec, part, f"status.{part}[{i}]", found)
    return found


def _condition(condition: Obj, path: str, found: list[FieldError]) -> None:
    seen, kind = condition.get("observedGeneration") or 0, condition.get("type") or ""
    if seen < 0:
        found.append(field.invalid(f"{path}.observedGeneration", seen, _GENERATION))
    if kind not in _SYSTEM_CONDITIONS:
        found += [field.invalid(f"{path}.Type", kind, text) for text in label_syntax.qualified_name(kind)]


def _nominated(new: str, old: str, spec: Obj, found: list[FieldError]) -> None:
    if not new or new == old:
        return
    path = "status.nominatedNodeName"
    found += [field.invalid(path, new, text) for text in names.dns1123_subdomain(new)]
    if spec.get("nodeName"):
        found.append(field.forbidden(path, "may not be set on pods that are already bound to a node"))


def _restarts(new: Obj, old: Obj, spec: Obj, found: list[FieldError]) -> None:
    """Checks that a container which ended for good is not reported as running again."""
    for part in _PARTS:
        reports = new.get(part) or ()
        for i, before in enumerate(old.get(part) or ()):
            ended = (before.get("state") or {}).get("terminated")
            if ended is None or (part != _PARTS[2] and _all_may_restart(spec)):
                continue
            name = before.get("name")
            report = next(
                (
                    r
                    for r in reports
                    if r.get("name") == name and not (r.get("state") or {}).get("terminated")
                ),
                None,
            )
            if report is not None and not _may_restart(name, part, spec, ended.get("exitCode") or 0):
                found.append(field.forbidden(f"status.{part}[{i}].state", _RESTARTED))


def _all_may_restart(spec: Obj) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for part in ("initContainers", "containers")
        for container in spec.get(part) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _may_restart(name: str | None, part: str, spec: Obj, code: int) -> bool:
    home = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}.get(part, "")
    container = next((c for c in spec.get(home) or () if c.get("name") == name), None)
    return container is not None and should_restart(container, spec, code)


def should_restart(container: Obj, spec: Obj, code: int) -> bool:
    """Whether a container that ended with this exit code is started again."""
    policy = container.get("restartPolicy")
    if policy is not None:
        for rule in container.get("restartPolicyRules") or ():
            if _matches(rule.get("exitCodes"), code):
                if rule.get("action") == "Restart":
                    return True
                break
    else:
        policy = spec.get("restartPolicy")
    return code != 0 if policy == "OnFailure" else policy != "Never"


def _matches(rule: Obj | None, code: int) -> bool:
    if rule is None:
        return False
    inside = code in (rule.get("values") or ())
    return inside if rule.get("operator") == "In" else not inside


def _claims(statuses: Sequence[Obj], spec: Obj, found: list[FieldError]) -> None:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for i, status in enumerate(statuses):
        here, name = f"status.resourceClaimStatuses[{i}]", status.get("name") or ""
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            found.append(field.invalid(f"{here}.name", name, text))
        if name in seen:
            found.append(field.duplicate(f"{here}.name", name))
        seen.add(name)
        if (claim := status.get("resourceClaimName")) is not None:
            where = f"{here}.resourceClaimName"
            found += [field.invalid(where, claim, text) for text in names.dns1123_subdomain(claim)]


def _addresses(new: Obj, old: Obj, found: list[FieldError]) -> None:
    _ips(new.get("podIPs") or [], old.get("podIPs") or [], "status.podIPs", found)
    hosts = new.get("hostIPs") or []
    if hosts and (new.get("hostIP") or "") != hosts[0].get("ip", ""):
        where = "status.hostIPs[0].ip"
        found.append(field.invalid(where, hosts[0].get("ip", ""), "must be equal to `hostIP`"))
    _ips(hosts, old.get("hostIPs") or [], "status.hostIPs", found)


def _ips(new: list[Obj], old: list[Obj], path: str, found: list[FieldError]) -> None:
    listed = [entry.get("ip") or "" for entry in new]
    known = {entry.get("ip") for entry in old}
    for i, address in enumerate(listed):
        if address not in known:
            found += [field.invalid(f"{path}[{i}]", address, text) for text in identifiers.ip(address)]
    if len(listed) > 1 and (len(listed) > 2 or len({":" in a for a in listed}) < 2):
        shown = [{"IP": address} for address in listed]
        text = "may specify no more than one IP for each IP family"
        found.append(field.invalid(path, shown, text))


def _container(status: Obj, spec: Obj, part: str, path: str, found: list[FieldError]) -> None:
    if (user := status.get("user")) is not None:
        _user(user, (spec.get("os") or {}).get("name") or "linux", f"{path}.user.linux", found)
    if allocated := status.get("allocatedResourcesStatus"):
        where = f"{path}.allocatedResourcesStatus"
        if part == _PARTS[2]:
            found.append(field.forbidden(where, "must not be specified in container status"))
        for i, entry in enumerate(allocated if part != _PARTS[2] else ()):
            _health(entry, f"{where}[{i}]", found)
    for i, mount in enumerate(status.get("volumeMounts") or ()):
        image = (mount.get("volumeStatus") or {}).get("image")
        if image is not None:
            _image(image, f"{path}.volumeMounts[{i}].volumeStatus.imageVolumeStatus", found)


def _user(user: Obj, system: str, path: str, found: list[FieldError]) -> None:
    linux = user.get("linux")
    if linux is None:
        return
    if system == "windows":
        found.append(field.forbidden(path, "cannot be set for a windows pod"))
        return
    ids = [("uid", linux.get("uid") or 0), ("gid", linux.get("gid") or 0)]
    ids += [(f"supplementalGroups[{i}]", g) for i, g in enumerate(linux.get("supplementalGroups") or ())]
    for name, value in ids:
        if not 0 <= value <= _MAX_ID:
            text = f"must be between 0 and {_MAX_ID}, inclusive"
            found.append(field.invalid(f"{path}.{name}", value, text))


def _health(entry: Obj, path: str, found: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, resource in enumerate(entry.get("resources") or ()):
        health, key = resource.get("health") or "", resource.get("resourceID") or ""
        found += field.one_of(f"{path}.resources[{i}].health", health, _HEALTH)
        if key in seen:
            found.append(field.duplicate(f"{path}.resources[{i}].resourceID", key))
        seen.add(key)


def _image(image: Obj, path: str, found: list[FieldError]) -> None:
    reference = image.get("imageRef") or ""
    if not reference:
        found.append(field.required(f"{path}.imageRef", "imageRef must not be empty"))
    elif len(reference) > _MAX_IMAGE_REF_CHARACTERS:
        found.append(field.too_long(f"{path}.imageRef", _MAX_IMAGE_REF_CHARACTERS))
