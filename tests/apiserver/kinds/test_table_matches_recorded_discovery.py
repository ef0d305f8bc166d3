"""The table of resources against what Kubernetes' discovery documents say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longshore.api import schema
from longshore.api.kinds import table
from longshore.api.resources import Resource
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api"


def exchanges() -> dict[str, Any]:
    return {
        e["name"]: e["response"].get("body") for e in json.loads((VECTORS / "discovery.json").read_text())
    }


def listed(resource: Resource) -> list[dict[str, Any]]:
    """The entries of a resource and its subresources in an APIResourceList."""
    own: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        own["shortNames"] = list(resource.short_names)
    if resource.categories:
        own["categories"] = list(resource.categories)
    if "get" in resource.verbs:
        own["storageVersionHash"] = table.storage_version_hash(resource)
    out = [own]
    for sub in resource.subresources.values():
        entry = {
            "name": f"{resource.plural}/{sub.name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": sub.kind,
            "verbs": list(sub.verbs),
        }
        if sub.group_version:
            entry["group"], _, entry["version"] = sub.group_version.rpartition("/")
        out.append(entry)
    return out


@pytest.mark.parametrize(
    ("exchange", "group"),
    [
        ("core-v1", ""),
        ("batch-v1", "batch"),
        ("events-v1", "events.k8s.io"),
        ("authorization-v1", "authorization.k8s.io"),
        ("authentication-v1", "authentication.k8s.io"),
        ("scheduling-v1", "scheduling.k8s.io"),
    ],
)
def test_rows_are_listed_as_kubernetes_lists_them(exchange: str, group: str) -> None:
    wanted = exchanges()[exchange]["resources"]
    names = [entry["name"] for entry in wanted]
    have = [entry for r in table.RESOURCES if r.group == group for entry in listed(r)]
    assert [entry for entry in have if entry["name"] in names] == wanted


def test_groups_stand_in_kubernetes_order() -> None:
    wanted = [group["name"] for group in exchanges()["apis"]["groups"]]
    have = list(dict.fromkeys(r.group for r in table.RESOURCES))
    assert [group for group in have if group in wanted] == wanted


def test_kubernetes_jobs_come_before_volcanos() -> None:
    groups = [r.group for r in table.RESOURCES if r.plural == "jobs"]
    assert groups == ["batch", "batch.volcano.sh"]


def test_a_row_is_found_by_its_path_and_by_its_kind() -> None:
    jobs = table.find("batch", "v1", "jobs")
    assert jobs is not None
    assert jobs is table.by_kind("batch/v1", "Job")
    assert table.by_kind("v1", "Pod") is table.find("", "v1", "pods")
    assert table.find("batch", "v1beta1", "jobs") is None
    assert table.by_kind("v1", "Job") is None


def test_events_of_both_groups_are_one_set_of_objects() -> None:
    core, new = table.find("", "v1", "events"), table.find("events.k8s.io", "v1", "events")
    assert core is not None
    assert new is not None
    assert core.storage == new.storage
    assert table.storage_version_hash(core) == table.storage_version_hash(new)


def test_no_path_is_taken_twice_and_no_short_name_within_a_group() -> None:
    paths = [(r.group, r.version, r.plural) for r in table.RESOURCES]
    assert len(paths) == len(set(paths))
    names = [(r.group, n) for r in table.RESOURCES for n in (r.plural, *r.short_names)]
    assert len(names) == len(set(names))


def test_verbs_are_sorted_and_every_schema_of_kubernetes_exists() -> None:
    for resource in table.RESOURCES:
        assert list(resource.verbs) == sorted(resource.verbs)
        for sub in resource.subresources.values():
            assert list(sub.verbs) == sorted(sub.verbs)
        if resource.style == "builtin":
            assert schema.message(resource.message).is_kind
