"""The plan for a terminating namespace: what to delete, which conditions to show, when it is done.

Pods go first and alone, since other objects (a ConfigMap, a Secret) may be what they need to stop in order.
An object is deleted once and then waited for: its finalizers or its grace period are not ours to cut short.
While a part of the API does not say what it serves, all others are emptied, but the namespace stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from longshore.api.types import Obj
from longshore.controllers.namespace.observe import Content, View
from longshore.machinery.reasons import Reason

FINALIZER = "kubernetes"
SOON_SECONDS = 0.05
"""After a delete: most objects are gone by then."""
LOOK_AGAIN_SECONDS = 1.0
"""Upstream waits half the longest grace period, since a list costs it more than it costs here."""

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
"""Every condition in upstream's order, with reason and message while all is well."""


class Plan(msgspec.Struct, frozen=True):
    """`conditions` is None when they are right already. `look_again` is None when nothing is left to do."""

    delete: tuple[Content, ...] = ()
    conditions: list[Obj] | None = None
    finalize: bool = False
    look_again: float | None = None
    why: tuple[Reason, ...] = ()


def decide(view: View) -> Plan:
    """The next step. Calling it again after any part of the plan was carried out is always right."""
    pods = tuple(c for c in view.contents if c.plural == "pods" and not c.group)
    todo = pods or view.contents
    fresh = tuple(f for c in todo if (f := _not_yet_deleted(c)) is not None)
    conditions = _changed(view, _problems(view, () if pods else todo))
    if fresh:
        return Plan(fresh, conditions, look_again=SOON_SECONDS, why=(_counted("ContentDeleted", fresh),))
    if todo:
        why = (_counted("ContentRemains", todo), *_failed(view))
        return Plan(conditions=conditions, look_again=LOOK_AGAIN_SECONDS, why=why)
    if view.failures or view.undiscovered:
        return Plan(conditions=conditions, look_again=LOOK_AGAIN_SECONDS, why=_failed(view))
    return Plan(conditions=conditions, finalize=True, why=(Reason("Empty", "the namespace is empty"),))


_WORDS = {"ContentDeleted": "deletes all", "ContentRemains": "waits until all are gone:"}


def _counted(code: str, contents: tuple[Content, ...]) -> Reason:
    names = ", ".join(content.qualified for content in contents)
    return Reason(code, f"{_WORDS[code]} {names}", {c.qualified: len(c.objects) for c in contents})


def _failed(view: View) -> tuple[Reason, ...]:
    found: list[Reason] = []
    if view.undiscovered:
        words = "not all resources that may be in the namespace can be found out"
        found.append(Reason("ResourcesUnknown", words))
    if view.failures:
        words = "some resources cannot be listed or deleted"
        found.append(Reason("ContentFailed", words, {"failures": len(view.failures)}))
    return tuple(found)


def _not_yet_deleted(content: Content) -> Content | None:
    objects = tuple(o for o in content.objects if "deletionTimestamp" not in o["metadata"])
    return replace(content, objects=objects) if objects else None


def _problems(view: View, remaining: Iterable[Content]) -> dict[str, tuple[str, str]]:
    """Reason and message of each condition that is not well. Objects about to be deleted do not count."""
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


def _changed(view: View, problems: dict[str, tuple[str, str]]) -> list[Obj] | None:
    """The whole list of conditions if it differs from the one shown. Others' conditions stay."""
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
