"""The cluster as a decision sees it, and the same as plain data.

Deciding reads the live ledger, which thousands of pods are counted in one by one. A `Snapshot` holds what one
decision depended on: it can be saved (`machinery/views.py`), logged and compared, and `restored` gives a view
that the same is decided on again.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from longshore.api.types import Obj
from longshore.scheduler.fitting import pod_claims
from longshore.scheduler.fitting.affinity import NamespaceLabels
from longshore.scheduler.fitting.pod_claims import Volumes
from longshore.scheduler.fitting.pod_shape import Pod, Shapes
from longshore.scheduler.ledger import Ledger


class View(msgspec.Struct, frozen=True):
    """All that is seen while deciding. Nobody changes any of it meanwhile."""

    ledger: Ledger
    volumes: Volumes
    namespaces: NamespaceLabels
    budgets: Iterable[Obj] = ()


class Counted(msgspec.Struct, frozen=True):
    """A pod and the node where it counts, or that is promised to it."""

    pod: Obj
    node: str


class Snapshot(msgspec.Struct, frozen=True):
    """The view for a decision about some pods, at one moment."""

    nodes: list[Obj]
    counted: list[Counted]
    """Every pod that counts somewhere, by binding or by assumption, in the order they came."""
    nominated: list[Counted]
    """Pods that others make room for."""
    claims: list[Obj]
    """Of the pods that are decided on,"""
    volumes: list[Obj]
    """what these claims are bound to,"""
    classes: list[Obj]
    """and their storage classes."""
    namespaces: dict[str, dict[str, str]]
    """The labels of all namespaces that have pods here."""
    budgets: list[Obj]


def snapshot(view: View, pods: Iterable[Pod]) -> Snapshot:
    """All that deciding about `pods` looks at."""
    ledger, found = view.ledger, _Found(view.volumes)
    names = {pod.key[0] for pod in ledger.pods.values()}
    for pod in pods:
        names.add(pod.key[0])
        found.look_up(pod)
    return Snapshot(
        nodes=[node.obj for node in ledger if node.obj is not None],
        counted=[Counted(pod.obj, pod.node) for pod in ledger.pods.values()],
        nominated=[Counted(pod.obj, node.name) for node in ledger for pod in node.nominated.values()],
        claims=[*found.claims.values()],
        volumes=[*found.volumes.values()],
        classes=[*found.classes.values()],
        namespaces={name: dict(view.namespaces(name)) for name in sorted(names)},
        budgets=[*view.budgets],
    )


class _Found:
    """Claims of pods with what they refer to."""

    def __init__(self, volumes: Volumes) -> None:
        self._volumes = volumes
        self.claims: dict[tuple[str, str], Obj] = {}
        self.volumes: dict[str, Obj] = {}
        self.classes: dict[str, Obj] = {}

    def look_up(self, pod: Pod) -> None:
        for name, _ in pod_claims.claims_of(pod.obj):
            claim = self._volumes.claim(pod.key[0], name)
            if claim is None:
                continue
            self.claims[pod.key[0], name] = claim
            volume, class_ = claim["spec"].get("volumeName"), claim["spec"].get("storageClassName")
            if volume and (bound := self._volumes.volume("", volume)) is not None:
                self.volumes[volume] = bound
            if class_ and (named := self._volumes.storage_class("", class_)) is not None:
                self.classes[class_] = named


def restored(saved: Snapshot, shapes: Shapes) -> View:
    """A view of what was saved."""
    ledger = Ledger()
    for node in saved.nodes:
        ledger.put_node(node)
    for each in saved.counted:
        ledger.assume(shapes.pod(each.pod), each.node)
    for each in saved.nominated:
        ledger.nominate(shapes.pod(each.pod), each.node)
    claims = {(c["metadata"]["namespace"], c["metadata"]["name"]): c for c in saved.claims}
    volumes = {("", volume["metadata"]["name"]): volume for volume in saved.volumes}
    classes = {("", each["metadata"]["name"]): each for each in saved.classes}
    return View(
        ledger,
        Volumes(
            lambda namespace, name: claims.get((namespace, name)),
            lambda namespace, name: volumes.get((namespace, name)),
            lambda namespace, name: classes.get((namespace, name)),
        ),
        lambda name: saved.namespaces.get(name, {}),
        saved.budgets,
    )
