"""ResourceQuotas: refuses writes that would exceed a quota, and updates `status.used` with every write.

The functions return the quotas whose status changes with the write. Both are written together, so the count
is exact at every moment, without a controller. A quota whose status does not fit its spec (new, or just
changed) is counted afresh from the objects that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import msgspec

from longshore.api import quantity
from longshore.api.kinds import table
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.admission.lookup import List, forbidden
from longshore.apiserver.admission.quota_usage import (
    Usage,
    add,
    compute,
    custom_storage,
    governs,
    has_scopes,
    in_scope,
    usage,
)

STORAGE: Final = "resourcequotas"
_MUST_BE_SET: Final = frozenset(
    ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
)
"""If a quota limits one of these, every container of a pod must specify it."""


class Charge(msgspec.Struct, frozen=True):
    """A quota, as stored, and the status it gets together with the write that was admitted."""

    quota: Obj
    status: Obj


def check_create(resource: Resource, obj: Obj, quotas: Iterable[Obj], list_: List) -> list[Charge]:
    """Raises 403 when a quota does not allow one more object like this."""
    return _move(resource, obj, None, quotas, list_, enforce=True)


def check_update(
    resource: Resource, new: Obj, old: Obj, quotas: Iterable[Obj], list_: List, *, subresource: str = ""
) -> list[Charge]:
    """Raises 403 when a quota does not allow the growth of a service, a claim or a resized pod. Any other
    change only updates the count: a finished pod, for example, gives its amounts back."""
    grows = subresource == "resize" if resource.storage == "pods" else not subresource
    return _move(resource, new, old, quotas, list_, enforce=grows)


def release(resource: Resource, obj: Obj, quotas: Iterable[Obj], list_: List) -> list[Charge]:
    """The charges that give the amounts of a deleted object back to its quotas."""
    return _move(resource, None, obj, quotas, list_, enforce=False)


def status_of(quota: Obj, list_: List) -> Obj:
    """The status of a quota, counted from the stored objects. A quota counts itself, also before it is
    stored."""
    hard = dict(quota["spec"].get("hard") or {})
    used: Usage = dict.fromkeys(hard, "0")
    namespace = quota["metadata"]["namespace"]
    for resource in table.RESOURCES:
        if not resource.namespaced or "list" not in resource.verbs:
            continue
        names = [name for name in hard if governs(resource, name)]
        if not names:
            continue
        found = list_(resource.storage, namespace)
        if resource.storage == STORAGE and not any(map(partial(_is, quota), found)):
            found = [*found, quota]
        for obj in found:
            if in_scope(quota, resource, obj):
                add(used, usage(resource, obj))
    for name in hard:
        if (storage := custom_storage(name)) is not None and not has_scopes(quota):
            used[name] = str(sum(1 for _ in list_(storage, namespace)))
    return {"hard": hard, "used": used} if hard else {}


def _move(
    resource: Resource,
    new: Obj | None,
    old: Obj | None,
    quotas: Iterable[Obj],
    list_: List,
    *,
    enforce: bool,
) -> list[Charge]:
    charges: list[Charge] = []
    plus = usage(resource, new) if new is not None else {}
    minus = usage(resource, old) if old is not None else {}
    if plus == minus and new is not None and not _scopes_may_differ(resource):
        return charges
    for quota in sorted(quotas, key=lambda q: str(q["metadata"]["name"])):
        hard = quota["spec"].get("hard") or {}
        names = [name for name in hard if governs(resource, name)]
        if not names:
            continue
        comes = new is not None and in_scope(quota, resource, new)
        goes = old is not None and in_scope(quota, resource, old)
        if not comes and not goes:
            continue
        if enforce and new is not None and resource.storage == "pods":
            _check_containers(resource, new, quota, names)
        status = _known_status(quota)
        if status is None:
            status = status_of(quota, list_)
            goes = goes and _is_there(resource, old, quota, list_)
        gained, lost = plus if comes else {}, minus if goes else {}
        delta = {n: quantity.subtract(gained.get(n, "0"), lost.get(n, "0")) for n in names}
        delta = {n: amount for n, amount in delta.items() if not quantity.is_zero(amount)}
        if not delta:
            continue
        used = dict(status["used"])
        add(used, delta)
        if enforce and new is not None:
            _check_room(resource, new, quota, hard, status["used"], delta, used)
        for name in delta:
            if quantity.compare(used[name], "0") < 0:
                used[name] = "0"
        charges.append(Charge(quota, {"hard": status["hard"], "used": used}))
    return charges


def _is(quota: Obj, other: Obj) -> bool:
    return bool(quota["metadata"]["name"] == other["metadata"]["name"])


def _scopes_may_differ(resource: Resource) -> bool:
    """Whether an object may enter or leave a scope while its usage stays the same."""
    return resource.storage in ("pods", "persistentvolumeclaims")


def _known_status(quota: Obj) -> Obj | None:
    """The stored status; None if it does not fit the current spec."""
    hard = quota["spec"].get("hard") or {}
    status: Obj = quota.get("status") or {}
    used = status.get("used") or {}
    return status if status.get("hard") == hard and used.keys() >= hard.keys() else None


def _is_there(resource: Resource, obj: Obj | None, quota: Obj, list_: List) -> bool:
    """Whether the fresh count includes the object, whose removal may have been staged already."""
    names = (each["metadata"]["name"] for each in list_(resource.storage, quota["metadata"]["namespace"]))
    return obj is not None and obj["metadata"]["name"] in names


def _check_containers(resource: Resource, pod: Obj, quota: Obj, names: Iterable[str]) -> None:
    spec = pod["spec"]
    if any((spec.get("resources") or {}).get(key) for key in ("requests", "limits")):
        return
    required = sorted(_MUST_BE_SET.intersection(names))
    missing: dict[str, set[str]] = {}
    for part in ("containers", "initContainers"):
        for container in spec.get(part) or ():
            own = container.get("resources") or {}
            said = compute(own.get("requests") or {}, own.get("limits") or {})
            for name in required:
                if name not in said:
                    missing.setdefault(name, set()).add(container.get("name", ""))
    if missing:
        texts = [f"{name} for: {','.join(sorted(missing[name]))}" for name in required if name in missing]
        why = f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(texts)}"
        raise forbidden(resource, pod, why)


def _check_room(
    resource: Resource,
    obj: Obj,
    quota: Obj,
    hard: Mapping[str, str],
    used: Mapping[str, str],
    delta: Mapping[str, str],
    after: Mapping[str, str],
) -> None:
    over = sorted(
        name
        for name, amount in delta.items()
        if quantity.compare(amount, "0") > 0 and quantity.compare(after[name], hard[name]) > 0
    )
    if not over:
        return

    def shown(amounts: Mapping[str, str]) -> str:
        return ",".join(f"{name}={amounts[name]}" for name in over)

    why = (
        f"exceeded quota: {quota['metadata']['name']}, requested: {shown(delta)}, "
        f"used: {shown(used)}, limited: {shown(hard)}"
    )
    raise forbidden(resource, obj, why)
