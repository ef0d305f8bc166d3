"""What the namespace controller decides: a view in, a plan out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from longshore.api.resources import Resource
from longshore.client.errors import PartlyDiscovered
from longshore.controllers.namespace.decide import LOOK_AGAIN_SECONDS, SOON_SECONDS, decide
from longshore.controllers.namespace.observe import Content, NamespaceView, Served, observe, wanted
from support.api_in_memory import api_in_memory

pytestmark = pytest.mark.anyio

NOW = "2026-05-04T12:00:00Z"


def content(plural: str, *objects: dict[str, Any], group: str = "") -> Content:
    return Content(group, "v1", plural, objects)


def obj(name: str, *, going: bool = False, finalizers: tuple[str, ...] = ()) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name}
    if going:
        meta["deletionTimestamp"] = NOW
    if finalizers:
        meta["finalizers"] = list(finalizers)
    return {"metadata": meta}


def view(*contents: Content, **more: Any) -> NamespaceView:
    namespace = {
        "metadata": {"name": "team", "deletionTimestamp": NOW},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Terminating"},
    }
    return NamespaceView(**{"namespace": namespace, "now": NOW, "contents": contents, **more})


def conditions(plan: Any) -> dict[str, tuple[str, str, str]]:
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in plan.conditions}


def test_pods_are_deleted_first_and_alone() -> None:
    plan = decide(view(content("configmaps", obj("a")), content("pods", obj("p"))))
    assert [c.plural for c in plan.delete] == ["pods"]
    assert not plan.finalize
    assert plan.look_again == SOON_SECONDS


def test_everything_else_follows_once_no_pod_is_left() -> None:
    plan = decide(view(content("configmaps", obj("a")), content("jobs", obj("j"), group="batch")))
    assert [c.plural for c in plan.delete] == ["configmaps", "jobs"]


def test_an_object_is_deleted_once_and_then_waited_for() -> None:
    plan = decide(view(content("configmaps", obj("a", going=True, finalizers=("x/y",)), obj("b"))))
    assert [o["metadata"]["name"] for c in plan.delete for o in c.objects] == ["b"]
    waiting = decide(view(content("configmaps", obj("a", going=True, finalizers=("x/y",)))))
    assert waiting.delete == ()
    assert waiting.look_again == LOOK_AGAIN_SECONDS
    (why,) = waiting.why
    assert (why.code, why.words, why.numbers) == (
        "ContentRemains",
        "waits until all are gone: configmaps",
        {"configmaps": 1},
    )


def test_an_empty_namespace_is_finalized() -> None:
    plan = decide(view())
    assert plan.finalize
    assert plan.look_again is None


def test_all_five_conditions_say_that_all_is_well() -> None:
    assert conditions(decide(view())) == {
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
        "NamespaceFinalizersRemaining": (
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    }


def test_what_remains_and_its_finalizers_are_named_with_counts() -> None:
    held = obj("a", going=True, finalizers=("x/y",)), obj("b", going=True, finalizers=("x/y", "a/b"))
    plan = decide(view(content("configmaps", *held), content("jobs", obj("j", going=True), group="batch")))
    shown = conditions(plan)
    assert shown["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: "
        "configmaps. has 2 resource instances, jobs.batch has 1 resource instances",
    )
    assert shown["NamespaceFinalizersRemaining"] == (
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: "
        "a/b in 1 resource instances, x/y in 2 resource instances",
    )


def test_while_pods_remain_the_conditions_still_say_that_all_is_well() -> None:
    pods = content("pods", obj("p", going=True, finalizers=("x/y",)))
    plan = decide(view(pods, content("configmaps", obj("a", going=True))))
    assert {status for status, *_ in conditions(plan).values()} == {"False"}
    assert plan.look_again == LOOK_AGAIN_SECONDS


def test_a_failed_discovery_deletes_nothing_and_is_shown() -> None:
    plan = decide(view(undiscovered="it is away"))
    assert conditions(plan)["NamespaceDeletionDiscoveryFailure"] == ("True", "DiscoveryFailed", "it is away")
    assert not plan.finalize
    assert plan.look_again == LOOK_AGAIN_SECONDS


def test_what_is_known_is_deleted_while_one_group_does_not_say_what_it_serves() -> None:
    away = "cannot find out what is served in metrics.example.com/v1"
    plan = decide(view(content("configmaps", obj("a")), undiscovered=away))
    assert [c.plural for c in plan.delete] == ["configmaps"]
    assert conditions(plan)["NamespaceDeletionDiscoveryFailure"] == ("True", "DiscoveryFailed", away)
    emptied = decide(view(undiscovered=away))
    assert not emptied.finalize
    assert emptied.look_again == LOOK_AGAIN_SECONDS


async def test_groups_that_say_what_they_serve_are_looked_at_while_another_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with api_in_memory() as server:
        client = server.client
        await client.create(("v1", "Namespace"), {"metadata": {"name": "team"}})
        await client.create(("v1", "ConfigMap"), {"metadata": {"name": "a"}}, "team")
        await client.delete(("v1", "Namespace"), "team")
        served = [each for each in await client.resources() if each.plural == "configmaps"]

        async def resources() -> list[Resource]:
            raise PartlyDiscovered(served, ["metrics.example.com/v1"], "503")

        monkeypatch.setattr(client, "resources", resources)
        seen = await observe(client, "team", NOW, (), Served())
    assert seen is not None
    assert [c.plural for c in seen.contents] == ["configmaps"]
    assert "metrics.example.com/v1" in seen.undiscovered


async def test_an_object_of_a_kind_with_several_versions_counts_once() -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema}
        for name in ("v1", "v1beta1", "v2")
    ]
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": versions,
    }
    async with api_in_memory() as server:
        client = server.client
        definition = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
        await client.create(("apiextensions.k8s.io/v1", "CustomResourceDefinition"), definition)
        await client.create(("v1", "Namespace"), {"metadata": {"name": "team"}})
        held = {"metadata": {"name": "w", "finalizers": ["x/y"]}}
        await client.create(("example.com/v1", "Widget"), held, "team")
        await client.delete(("v1", "Namespace"), "team")
        await client.delete(("example.com/v1", "Widget"), "w", "team")
        seen = await observe(client, "team", NOW, (), Served())
    assert seen is not None
    shown = conditions(decide(seen))
    assert shown["NamespaceContentRemaining"][2] == (
        "Some resources are remaining: widgets.example.com has 1 resource instances"
    )
    assert shown["NamespaceFinalizersRemaining"][2] == (
        "Some content in the namespace has finalizers remaining: x/y in 1 resource instances"
    )


def test_a_failure_to_delete_keeps_the_namespace_and_is_shown() -> None:
    plan = decide(view(failures=("b failed", "a failed")))
    assert conditions(plan)["NamespaceDeletionContentFailure"] == (
        "True",
        "ContentDeletionFailed",
        "Failed to delete all resource types, 2 remaining: a failed, b failed",
    )
    assert not plan.finalize


def test_conditions_that_are_right_are_not_written_again() -> None:
    first = decide(view())
    namespace = {**view().namespace, "status": {"phase": "Terminating", "conditions": first.conditions}}
    assert decide(view(namespace=namespace, now="2026-05-04T12:00:09Z")).conditions is None


def test_a_condition_keeps_its_time_until_its_status_turns() -> None:
    first = decide(view())
    namespace = {**view().namespace, "status": {"conditions": first.conditions}}
    later = "2026-05-04T12:00:09Z"
    turned = decide(view(content("configmaps", obj("a", going=True)), namespace=namespace, now=later))
    assert turned.conditions is not None
    times = {c["type"]: c["lastTransitionTime"] for c in turned.conditions}
    assert times["NamespaceContentRemaining"] == later
    assert times["NamespaceDeletionContentFailure"] == NOW


def test_conditions_of_others_stay() -> None:
    own = {"type": "Custom", "status": "True"}
    namespace = {**view().namespace, "status": {"conditions": [own]}}
    plan = decide(view(namespace=namespace))
    assert plan.conditions is not None
    assert plan.conditions[0] == own


def test_only_terminating_namespaces_that_are_not_finalized_yet_are_looked_at() -> None:
    assert wanted(view().namespace)
    assert not wanted({"metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes"]}})
    assert not wanted(
        {"metadata": {"name": "a", "deletionTimestamp": NOW}, "spec": {"finalizers": ["other"]}}
    )
    assert not wanted({"metadata": {"name": "a", "deletionTimestamp": NOW}})


def test_a_saved_view_gives_the_same_plan() -> None:
    seen = view(content("configmaps", obj("a", going=True)), content("jobs", obj("j"), group="batch"))
    loaded = msgspec.json.decode(msgspec.json.encode(seen), type=NamespaceView)
    assert loaded == seen
    assert decide(loaded) == decide(seen)
