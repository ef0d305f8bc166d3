"""The plan for a terminating namespace: what to delete, which conditions to set, when it is empty.

Pods are deleted first and alone, since they may need other objects (a ConfigMap, a Secret) to stop cleanly.
An object is deleted once; then its finalizers and its grace period are waited for. While discovery of an API
group fails, all other groups are emptied, but the namespace stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from longshore.api.types import Obj
from longshore.controllers.namespace.observe import Content, NamespaceView
from longshore.machinery.reasons import Reason

FINALIZER = "kubernetes"
SOON_SECONDS = 0.05
"""Seconds until the sync after a delete: most objects are gone by then."""
LOOK_AGAIN_SECONDS = 1.0
"""Upstream waits half the longest grace period, since a list is more expensive there."""

_OK = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Every condition in upstream's order, with its reason and message when there is no problem."""


class NamespacePlan(msgspec.Struct, frozen=True):
    """`conditions` is None if they need no change. `look_again` is None if nothing is left to do."""

    delete: tuple[Content, ...] = ()
    conditions: list[Obj] | None = None
    finalize: bool = False
    look_again: float | None = None
    why: tuple[Reason, ...] = ()


def decide(view: NamespaceView) -> NamespacePlan:
    """Returns the next step. May be called again after any part of the plan was carried out."""
    pods = tuple(c for c in view.contents if c.plural == "pods" and not c.group)
    todo = pods or view.contents
    fresh = tuple(f for c in todo if (f := _not_yet_deleted(c)) is not None)
    conditions = _changed(view, _problems(view, () if pods else todo))
    if fresh:
        return NamespacePlan(
            fresh, conditions, look_again=SOON_SECONDS, why=(_counted("ContentDeleted", fresh),)
        )
    if todo:
        why = (_counted("ContentRemains", todo), *_failed(view))
        return NamespacePlan(conditions=conditions, look_again=LOOK_AGAIN_SECONDS, why=why)
    if view.failures or view.undiscovered:
        return NamespacePlan(conditions=conditions, look_again=LOOK_AGAIN_SECONDS, why=_failed(view))
    return NamespacePlan(conditions=conditions, finalize=True, why=(Reason("Empty"),))


def _counted(code: str, contents: tuple[Content, ...]) -> Reason:
    return Reason(code, {c.qualified: len(c.objects) for c in contents})


def _failed(view: NamespaceView) -> tuple[Reason, ...]:
    found: list[Reason] = []
    if view.undiscovered:
        found.append(Reason("ResourcesUnknown"))
    if view.failures:
        found.append(Reason("ContentFailed", {"failures": len(view.failures)}))
    return tuple(found)


def _not_yet_deleted(content: Content) -> Content | None:
    objects = tuple(o for o in content.objects if "deletionTimestamp" not in o["metadata"])
    return replace(content, objects=objects) if objects else None


def _problems(view: NamespaceView, remaining: Iterable[Content]) -> dict[str, tuple[str, str]]:
    """Returns reason and message of each condition with a problem. Ignores objects not yet deleted."""
    found: dict[str, tuple[str, str]] = {}
    if view.undiscovered:
        found["NamespaceDeletionDiscoveryFailure"] = "DiscoveryFailed", view.undiscovered
    if view.failures:
        text = f"Failed to delete all resource types, {len(view.failures)} remaining: "
        found["NamespaceDeletionContentFailure"] = (
            "ContentDeletionFailed",
            text + ", ".join(sorted(view.failures)),
        )
    left: list[str] = []
    finalizers: Counter[str] = Counter()
    for content in remaining:
        staying = [o for o in content.objects if "deletionTimestamp" in o["metadata"]]
        if staying:
            left.append(f"{content.plural}.{content.group} has {len(staying)} resource instances")
        for obj in staying:
            finalizers.update(obj["metadata"].get("finalizers") or ())
    if left:
        found["NamespaceContentRemaining"] = (
            "SomeResourcesRemain",
            "Some resources are remaining: " + ", ".join(sorted(left)),
        )
    if finalizers:
        counts = ", ".join(
            sorted(f"{name} in {count} resource instances" for name, count in finalizers.items())
        )
        found["NamespaceFinalizersRemaining"] = (
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {counts}",
        )
    return found


def _changed(view: NamespaceView, problems: dict[str, tuple[str, str]]) -> list[Obj] | None:
    """Returns all conditions if any changed. Conditions of other controllers stay."""
    old: list[Obj] = (view.namespace.get("status") or {}).get("conditions") or []
    new = list(old)
    for kind, well in _OK.items():
        status = "True" if kind in problems else "False"
        reason, message = problems.get(kind, well)
        at = next((i for i, c in enumerate(old) if c["type"] == kind), None)
        since = view.now
        if at is not None and old[at]["status"] == status:
            since = old[at].get("lastTransitionTime") or view.now
        condition = {
            "type": kind,
            "status": status,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }
        if at is None:
            new.append(condition)
        else:
            new[at] = condition
    return None if new == old else new
