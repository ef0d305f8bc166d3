"""Admission in its order: namespace open, limits and pod defaults set, quota charged.

The decisions are pure functions in `apiserver/admission/`; this file asks them at the right moments
and gives them the newest state, staged writes included, so that two creates in one batch cannot
share the last place in a quota.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from longshore.api.types import Obj
from longshore.apiserver.admission import limitranger, namespace, pod, priorityclass, quota, storageclass
from longshore.apiserver.request.call import Call
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.store import Staged

_QUOTAS: Final = "resourcequotas"
_LIMITS: Final = "limitranges"
_LIMITED: Final = frozenset(("pods", "persistentvolumeclaims"))
_CLASSES: Final = "scheduling.k8s.io/priorityclasses"
_VOLCANO: Final = ".volcano.sh"
_VOLCANO_SCHEDULER: Final = "volcano"


@dataclass(frozen=True, slots=True)
class Charged:
    """Quotas whose status changes together with a write."""

    charges: list[quota.Charge]

    def stage(self, api: Api, *, joined: bool = False) -> list[Staged]:
        """Stages the new status of each quota, all in one transaction."""
        if not self.charges:
            return []
        return [_stage_quota(api, charge, joined=joined or i > 0) for i, charge in enumerate(self.charges)]


_NOTHING: Final = Charged([])


def is_free(api: Api, where: str) -> bool:
    """Whether a namespace takes new objects and has no quota to count them."""
    store = api.store
    entry = store.latest(Key("namespaces", "", where))
    if entry is None or not namespace.is_open(entry.obj):
        return False
    return store.is_empty(_QUOTAS) or not store.latest_list(_QUOTAS, where)


def namespace_is_open(api: Api, call: Call, obj: Obj) -> None:
    """Refuses creates in a namespace that is missing or terminating."""
    if not call.resource.namespaced:
        return
    entry = api.store.latest(Key("namespaces", "", call.namespace))
    if entry is None or not namespace.is_open(entry.obj):
        namespace.check_open(_Lookup(api).get, call.resource, call.namespace, obj)  # says why


def mutate_create(api: Api, call: Call, obj: Obj) -> None:
    """Sets what the cluster decides for a new object: limits, priority, tolerations, classes."""
    match call.resource.storage:
        case "pods":
            lookup = _Lookup(api)
            if limits := lookup.list(_LIMITS, call.namespace):
                limitranger.set_defaults(obj, limits)
                call.resource.strategy.default(obj)  # what a pod asks for as a whole follows its containers
            pod.admit_create(obj, lookup.get, lookup.list)
        case "persistentvolumeclaims":
            storageclass.set_default(obj, _Lookup(api).list("storage.k8s.io/storageclasses", ""))
        case storage if call.resource.group.endswith(_VOLCANO):
            # Here and below: nobody who has no objects of Volcano's pays for the code that judges them.
            from longshore.apiserver.admission import volcano

            had_spec = "spec" in obj
            volcano.mutate_create(storage, obj, _Lookup(api).get)
            if not had_spec:
                call.resource.strategy.default(obj)  # what was not there had no defaults


def mutate_update(api: Api, call: Call, new: Obj, old: Obj) -> None:
    """Puts back what admission set on create and an update may not know of."""
    if call.resource.storage == "pods" and not call.subresource and new["spec"] is not old["spec"]:
        pod.admit_update(new, old)


def charge(api: Api, call: Call, obj: Obj) -> Charged:
    """Checks limits and quotas of a valid new object; returns what its creation costs."""
    resource, store, lookup = call.resource, api.store, _Lookup(api)
    storage = resource.storage
    if storage == "pods":
        if obj["spec"].get("schedulerName") == _VOLCANO_SCHEDULER:
            from longshore.apiserver.admission import volcano

            volcano.validate_pod(obj)
    elif resource.group.endswith(_VOLCANO):
        from longshore.apiserver.admission import volcano

        volcano.validate_create(storage, obj, lookup.get, lookup.list)
    elif storage == _CLASSES:
        priorityclass.check_only_default(resource, obj, lookup.list(storage, ""))
    elif storage == _QUOTAS:
        obj["status"] = quota.status_of(obj, lookup.list)
    if not resource.namespaced:
        return _NOTHING
    if storage in _LIMITED and not store.is_empty(_LIMITS):
        limitranger.check(resource, obj, lookup.list(_LIMITS, call.namespace))
    if store.is_empty(_QUOTAS):
        return _NOTHING
    quotas = lookup.list(_QUOTAS, call.namespace)
    return Charged(quota.check_create(resource, obj, quotas, lookup.list)) if quotas else _NOTHING


def charge_update(api: Api, call: Call, new: Obj, old: Obj) -> Charged:
    """The same for a change."""
    resource, store, lookup = call.resource, api.store, _Lookup(api)
    storage = resource.storage
    if not call.subresource and resource.group.endswith(_VOLCANO):
        from longshore.apiserver.admission import volcano

        volcano.validate_update(storage, new, old, lookup.get, lookup.list)
    if storage == _CLASSES:
        priorityclass.check_only_default(resource, new, lookup.list(storage, ""))
    if not resource.namespaced:
        return _NOTHING
    if storage == _QUOTAS and not call.subresource:
        new["status"] = quota.status_of(new, lookup.list)
        return _NOTHING
    if storage in _LIMITED and call.subresource != "status" and not store.is_empty(_LIMITS):
        limitranger.check(resource, new, lookup.list(_LIMITS, call.namespace), old)
    if store.is_empty(_QUOTAS):
        return _NOTHING
    quotas = lookup.list(_QUOTAS, call.namespace)
    if not quotas:
        return _NOTHING
    found = quota.check_update(resource, new, old, quotas, lookup.list, subresource=call.subresource)
    return Charged(found)


def check_delete(api: Api, call: Call) -> None:
    """Refuses to delete what Volcano still needs."""
    if call.resource.group.endswith(_VOLCANO):
        from longshore.apiserver.admission import volcano

        volcano.validate_delete(call.resource.storage, call.name, _Lookup(api).list)


def release(api: Api, call: Call, obj: Obj, *, joined: bool) -> list[Staged]:
    """Gives back to the quotas what a removed object held, `joined` with the write before."""
    if not call.resource.namespaced or call.resource.storage == _QUOTAS:
        return []
    lookup = _Lookup(api)
    quotas = lookup.list(_QUOTAS, call.namespace)
    if not quotas:
        return []
    return Charged(quota.release(call.resource, obj, quotas, lookup.list)).stage(api, joined=joined)


def _stage_quota(api: Api, charge: quota.Charge, *, joined: bool) -> Staged:
    meta = charge.quota["metadata"]
    changed = {**charge.quota, "metadata": dict(meta), "status": charge.status}
    return api.store.stage(Key(_QUOTAS, meta["namespace"], meta["name"]), changed, joined=joined)


class _Lookup:
    """The newest state, staged writes included."""

    __slots__ = ("_api",)

    def __init__(self, api: Api) -> None:
        self._api = api

    def get(self, storage: str, namespace: str, name: str) -> Obj | None:
        entry = self._api.store.latest(Key(storage, namespace, name))
        return entry.obj if entry is not None else None

    def list(self, storage: str, namespace: str) -> list[Obj]:
        if self._api.store.is_empty(storage):
            return []
        return [e.obj for e in self._api.store.latest_list(storage, namespace or None)]
