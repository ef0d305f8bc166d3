"""Who owns a field after creates, replaces and patches."""

from __future__ import annotations

import copy
from typing import Any

from longshore.api import shape
from longshore.api.apply import managed
from longshore.api.kinds import table
from longshore.api.shape import UNTYPED, MapShape

T0, T1 = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"


def of(plural: str, group: str = "") -> MapShape:
    resource = table.find(group, "v1", plural)
    assert resource is not None
    return shape.shape_of(resource)


def write(
    new: dict[str, Any],
    old: dict[str, Any] | None = None,
    by: str = "me",
    now: str = T1,
    kind: MapShape | None = None,
    sub: str = "",
    **more: Any,
) -> dict[str, Any]:
    new = copy.deepcopy(new)
    found = kind or of("configmaps")
    managed.after_update(
        new, old, manager=by, api_version="v1", shape=found, now=now, subresource=sub, **more
    )
    return new


def owners(obj: dict[str, Any]) -> dict[str, Any]:
    return {e["manager"]: e["fieldsV1"] for e in obj["metadata"].get("managedFields", [])}


def config(**data: str) -> dict[str, Any]:
    return {"metadata": {"name": "c", "uid": "u"}, "data": data}


def test_a_creator_owns_what_it_set_and_the_containers_around_it() -> None:
    made = write(config(a="1"))
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Update",
            "apiVersion": "v1",
            "time": T1,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]


def test_nobody_owns_structures_that_are_there_anyway() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": {}}]}, "status": {}}
    containers = {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:resources": {}}}
    assert owners(write(pod, kind=of("pods")))["me"] == {"f:spec": {"f:containers": containers}}


def test_a_custom_kind_starts_from_nothing_at_all() -> None:
    kind = shape.custom_kind({"spec": MapShape(element=UNTYPED)}, status_apart=False)
    made = write({"metadata": {"name": "x"}, "spec": {"a": {"b": [1]}}}, kind=kind)
    assert owners(made)["me"] == {"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}}}


def test_a_changed_field_moves_to_the_one_who_changed_it() -> None:
    old = write(config(a="1", b="2"), by="first", now=T0)
    new = write(config(a="9", b="2"), old, by="second")
    assert owners(new) == {"first": {"f:data": {".": {}, "f:b": {}}}, "second": {"f:data": {"f:a": {}}}}
    times = {e["manager"]: e["time"] for e in new["metadata"]["managedFields"]}
    assert times == {"first": T0, "second": T1}


def test_a_removed_field_leaves_all_owners() -> None:
    old = write(config(a="1", b="2"), by="first", now=T0)
    assert owners(write(config(b="2"), old, by="second")) == {"first": {"f:data": {".": {}, "f:b": {}}}}


def test_an_entry_without_fields_vanishes() -> None:
    old = write(config(a="1"), by="first", now=T0)
    bare = {k: v for k, v in config().items() if k != "data"}
    assert "managedFields" not in write(bare, old, by="second")["metadata"]


def test_a_write_that_changes_nothing_keeps_entries_and_times() -> None:
    old = write(config(a="1"), by="first", now=T0)
    new = write(config(a="1"), old, by="first", now=T1)
    assert new["metadata"]["managedFields"] is old["metadata"]["managedFields"]


def test_names_versions_and_the_like_are_never_owned() -> None:
    new = config(a="1")
    new["metadata"].update(
        namespace="n", resourceVersion="5", generation=3, creationTimestamp=T0, labels={"l": "1"}
    )
    assert owners(write(new))["me"]["f:metadata"] == {"f:labels": {".": {}, "f:l": {}}}


def test_a_write_to_the_object_never_owns_status_and_one_to_status_never_spec() -> None:
    jobs = of("jobs", "batch")
    job = {"metadata": {"name": "j", "uid": "u"}, "spec": {"suspend": True}, "status": {"active": 1}}
    old = write(job, by="user", now=T0, kind=jobs)
    assert owners(old) == {"user": {"f:spec": {"f:suspend": {}}}}
    changed = {**copy.deepcopy(job), "spec": {"suspend": False}, "status": {"active": 2}}
    new = write(changed, old, by="controller", kind=jobs, sub="status")
    assert owners(new)["controller"] == {"f:status": {"f:active": {}}}
    assert owners(new)["user"] == {"f:spec": {"f:suspend": {}}}
    assert new["metadata"]["managedFields"][-1]["subresource"] == "status"


def test_an_empty_list_of_managers_or_an_empty_entry_forgets_them_all() -> None:
    old = write(config(a="1"), by="first", now=T0)
    for wish in ([], [{}]):
        sent = config(a="1")
        sent["metadata"]["managedFields"] = wish
        assert "managedFields" not in write(sent, old)["metadata"]


def test_an_object_without_managers_stays_without() -> None:
    old = config(a="1")
    assert "managedFields" not in write(config(a="2"), old)["metadata"]


def test_managers_that_the_request_names_replace_the_stored_ones() -> None:
    old = write(config(a="1"), by="first", now=T0)
    sent = config(a="1")
    sent["metadata"]["managedFields"] = [{**old["metadata"]["managedFields"][0], "manager": "renamed"}]
    assert list(owners(write(sent, old))) == ["renamed"]
    assert list(owners(write(sent, old, sub="status"))) == ["first"]


def test_malformed_managers_in_the_request_are_ignored() -> None:
    old = write(config(a="1"), by="first", now=T0)
    entry = old["metadata"]["managedFields"][0]
    for change in ({"operation": "Weird"}, {"apiVersion": ""}, {"fieldsType": "V9"}, {"fieldsV1": {"x": {}}}):
        sent = config(a="1")
        sent["metadata"]["managedFields"] = [{**entry, **change}]
        assert write(sent, old)["metadata"]["managedFields"] == [entry]


def test_entries_of_unknown_versions_go_and_of_known_ones_stay() -> None:
    old = write(config(a="1"), by="first", now=T0)
    foreign = {**old["metadata"]["managedFields"][0], "apiVersion": "v0", "manager": "old"}
    old["metadata"]["managedFields"].append(foreign)
    assert list(owners(write(config(a="2"), old, by="me"))) == ["first", "me"]
    assert sorted(owners(write(config(a="2"), old, by="me", versions=("v0",)))) == ["first", "me", "old"]


def test_more_than_ten_updaters_are_joined_into_ancient_changes() -> None:
    data = {str(i): "0" for i in range(12)}
    obj = write(config(**data), by="m00", now=f"{T0[:17]}00Z")
    for i in range(1, 12):
        data = {**data, str(i): "1"}
        obj = write(config(**data), obj, by=f"m{i:02}", now=f"{T0[:17]}{i:02}Z")
    entries = obj["metadata"]["managedFields"]
    assert [e["manager"] for e in entries] == ["ancient-changes", *(f"m{i:02}" for i in range(3, 12))]
    assert entries[0]["time"] == f"{T0[:17]}02Z"
    assert entries[0]["fieldsV1"] == {"f:data": {".": {}, "f:0": {}, "f:1": {}, "f:2": {}}}


def test_items_that_share_their_keys_are_owned_as_one() -> None:
    pods = of("pods")
    twice = [{"name": "e", "value": "1"}, {"name": "e", "value": "2"}]
    pod = {"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "c", "env": twice}]}}
    env = owners(write(pod, kind=pods))["me"]["f:spec"]["f:containers"]['k:{"name":"c"}']["f:env"]
    assert env == {".": {}, 'k:{"name":"e"}': {}}


def test_a_list_whose_items_have_no_names_leaves_the_owners_as_they_were() -> None:
    accounts = of("serviceaccounts")
    account = {"metadata": {"name": "s", "uid": "u"}}
    old = write({**account, "automountServiceAccountToken": True}, by="first", now=T0, kind=accounts)
    new = write({**account, "secrets": [{"kind": "Secret"}]}, old, kind=accounts)
    assert owners(new) == owners(old)


def test_fields_that_became_one_leaf_are_owned_as_one() -> None:
    def kind(type_: shape.ListType) -> MapShape:
        item = MapShape({"name": shape.STRING, "v": shape.NUMERIC})
        parts = shape.ListShape(item, type_, keys=("name",))
        return shape.custom_kind({"spec": MapShape({"parts": parts, "n": shape.NUMERIC})}, status_apart=False)

    obj = {"metadata": {"name": "x", "uid": "u"}, "spec": {"parts": [{"name": "a", "v": 1}], "n": 1}}
    old = write(obj, by="first", now=T0, kind=kind("map"))
    assert owners(old)["first"]["f:spec"]["f:parts"] == {
        ".": {},
        'k:{"name":"a"}': {".": {}, "f:name": {}, "f:v": {}},
    }
    changed = {**obj, "spec": {**obj["spec"], "n": 2}}
    new = write(changed, old, by="second", kind=kind("atomic"))
    assert owners(new)["first"] == {"f:spec": {".": {}, "f:parts": {}}}


def test_two_objects_may_differ_in_times_alone() -> None:
    old = write(config(a="1"), by="first", now=T0)
    later = copy.deepcopy(old)
    later["metadata"]["managedFields"][0]["time"] = T1
    assert managed.only_times_differ(later, old)
    assert not managed.only_times_differ({**later, "data": {"a": "2"}}, old)
    later["metadata"]["managedFields"][0]["manager"] = "other"
    assert not managed.only_times_differ(later, old)
