"""Server-side apply: merging, ownership, conflicts, removal."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.api import apply, codec, shape
from longshore.api.apply import managed, shape_check
from longshore.api.apply.applying import LAST_APPLIED
from longshore.api.errors import StatusError
from longshore.api.kinds import table

T0, T1 = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"
PODS = table.find("", "v1", "pods")
assert PODS is not None
POD = shape.shape_of(PODS)


def applied(
    live: Any, body: dict[str, Any], by: str = "me", *, force: bool = False, now: str = T1
) -> dict[str, Any]:
    """One apply, decoded as the server decodes it."""
    body = {"apiVersion": "v1", "kind": "Pod", **body}
    assert not shape_check.problem_of(body, POD)
    merged = apply.apply(
        live, body, manager=by, force=force, api_version="v1", shape=POD, now=now, subresource=""
    )
    managers = merged["metadata"].pop("managedFields", None)
    out = codec.from_value(merged, "core/v1.Pod").obj
    if managers:
        out["metadata"]["managedFields"] = managers
    out["metadata"].setdefault("uid", "u")
    return out


def pod(*containers: dict[str, Any], **meta: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"metadata": {"name": "p", **meta}}
    if containers:
        out["spec"] = {"containers": list(containers)}
    return out


def owners(obj: dict[str, Any]) -> dict[str, Any]:
    return {e["manager"]: e["fieldsV1"] for e in obj["metadata"].get("managedFields", [])}


NAMES = st.sampled_from("abcd")
VALUES = st.sampled_from(["1", "2"])
ENV = st.dictionaries(NAMES, VALUES, min_size=1, max_size=3).map(
    lambda d: [{"name": k, "value": v} for k, v in d.items()]
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES}, optional={"image": VALUES, "env": ENV, "args": st.lists(VALUES, min_size=1)}
    ),
    unique_by=lambda c: c["name"],
    max_size=3,
)
META = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(NAMES, VALUES, min_size=1, max_size=3),
        "finalizers": st.lists(st.sampled_from(["x/a", "x/b", "x/c"]), unique=True, min_size=1),
    },
)
BODIES = st.builds(lambda containers, meta: pod(*containers, **meta), CONTAINERS, META)
few = settings(max_examples=40, deadline=None)


@few
@given(BODIES, BODIES)
def test_applying_the_same_configuration_again_changes_nothing(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    live = applied(applied(None, first, now=T0), second, now=T0)
    assert applied(live, second, now=T1) == live


@few
@given(BODIES, BODIES)
def test_one_manager_has_what_it_last_applied_and_no_more(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    once = applied(None, second)
    twice = applied(applied(None, first), second)
    for part in ("labels", "finalizers"):
        assert twice["metadata"].get(part) == once["metadata"].get(part)
    got, want = ({c["name"]: c for c in obj["spec"].get("containers") or ()} for obj in (twice, once))
    assert got == want


@few
@given(BODIES, BODIES)
def test_managers_of_disjoint_fields_never_conflict(first: dict[str, Any], second: dict[str, Any]) -> None:
    renamed = json.loads(json.dumps(second))
    for container in renamed.get("spec", {}).get("containers", []):
        container["name"] += "-other"
    if labels := renamed["metadata"].get("labels"):
        renamed["metadata"]["labels"] = {f"{k}-other": v for k, v in labels.items()}
    renamed["metadata"].pop("finalizers", None)
    live = applied(applied(None, first, "one"), renamed, "two")
    assert applied(live, first, "one") == live


@few
@given(BODIES, BODIES)
def test_an_apply_keeps_what_others_own(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = applied(None, first, "one")
    both = applied(live, second, "two", force=True)
    left = applied(both, pod(), "two")
    for key, value in first["metadata"].get("labels", {}).items():
        changed = second["metadata"].get("labels", {}).get(key, value)
        owned = "f:" + key in owners(both).get("one", {}).get("f:metadata", {}).get("f:labels", {})
        assert (left["metadata"].get("labels", {}).get(key) == changed) == owned
    assert {c["name"] for c in first.get("spec", {}).get("containers", [])} <= {
        c["name"] for c in left["spec"].get("containers") or ()
    }


def test_a_field_that_another_owns_cannot_be_changed_without_force() -> None:
    live = applied(None, pod(labels={"a": "1", "b": "1"}), "one")
    with pytest.raises(StatusError) as found:
        applied(live, pod(labels={"a": "2", "b": "2"}), "two")
    assert found.value.code == 409
    assert found.value.message == (
        'Apply failed with 2 conflicts: conflicts with "one":\n- .metadata.labels.a\n- .metadata.labels.b'
    )
    forced = applied(live, pod(labels={"a": "2"}), "two", force=True)
    assert owners(forced) == {
        "one": {"f:metadata": {"f:labels": {"f:b": {}}}},
        "two": {"f:metadata": {"f:labels": {"f:a": {}}}},
    }


def test_conflicts_with_several_managers_are_listed_by_manager() -> None:
    live = applied(None, pod(labels={"a": "1"}), "zed")
    updated = copy.deepcopy(live)
    updated["metadata"]["labels"]["b"] = "1"
    managed.after_update(
        updated, live, manager="kubelet", api_version="v1", shape=POD, now=T1, subresource="status"
    )
    with pytest.raises(StatusError) as found:
        applied(updated, pod(labels={"a": "2", "b": "2"}), "two")
    assert found.value.message == (
        'Apply failed with 2 conflicts: conflicts with "kubelet" with subresource "status" using v1:\n'
        '- .metadata.labels.b\nconflicts with "zed":\n- .metadata.labels.a'
    )


def test_equal_values_are_owned_together_and_survive_until_the_last_owner_drops_them() -> None:
    live = applied(applied(None, pod(labels={"a": "1"}), "one"), pod(labels={"a": "1"}), "two")
    assert set(owners(live)) == {"one", "two"}
    live = applied(live, pod(), "one")
    assert live["metadata"]["labels"] == {"a": "1"}
    assert "labels" not in applied(live, pod(), "two")["metadata"]


def test_a_new_owner_that_changes_nothing_has_no_time() -> None:
    live = applied(None, pod(labels={"a": "1"}), "one", now=T0)
    entries = applied(live, pod(labels={"a": "1"}), "two")["metadata"]["managedFields"]
    assert {e["manager"]: e.get("time") for e in entries} == {"one": T0, "two": None}


def test_items_keep_the_order_of_the_configuration_and_others_stay_in_place() -> None:
    def named(*names: str) -> dict[str, Any]:
        return pod(*({"name": n} for n in names))

    live = applied(None, named("a", "b", "c", "d"), "one")
    merged = applied(live, named("x", "c", "a", "y"), "two")
    assert [c["name"] for c in merged["spec"]["containers"]] == ["b", "x", "c", "d", "a", "y"]


def test_the_first_apply_to_an_untracked_object_finds_everything_taken() -> None:
    live = {
        "metadata": {"name": "p", "uid": "u", "labels": {"a": "1"}},
        "spec": {"containers": None},
        "status": {},
    }
    with pytest.raises(
        StatusError, match=r'conflict with "before-first-apply" using v1: \.metadata\.labels\.a'
    ):
        applied(live, pod(labels={"a": "2"}))
    assert set(owners(applied(live, pod(labels={"b": "2"})))) == {"before-first-apply", "me"}


def test_kubectl_may_take_over_what_it_applied_on_its_own_side() -> None:
    last = {"apiVersion": "v1", "kind": "Pod", **pod(labels={"a": "1"})}
    body = pod(labels={"a": "1"}, annotations={LAST_APPLIED: json.dumps(last)})
    live = {**body, "metadata": {**body["metadata"], "uid": "u"}, "spec": {"containers": None}}
    managed.after_update(
        live, None, manager="kubectl-client-side-apply", api_version="v1", shape=POD, now=T0, subresource=""
    )
    wanted = pod(labels={"a": "2"})
    with pytest.raises(StatusError, match="Apply failed with 1 conflict"):
        applied(live, wanted, "other")
    taken = applied(live, wanted, "kubectl")
    assert taken["metadata"]["labels"] == {"a": "2"}
    kept = taken["metadata"]["annotations"][LAST_APPLIED]
    assert kept == '{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"2"},"name":"p"}}\n'


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"spec": {"bogus": 1}}, ".spec.bogus: field not declared in schema"),
        ({"spec": {"priority": "high"}}, ".spec.priority: expected numeric (int or float), got string"),
        ({"spec": {"hostNetwork": 1}}, ".spec.hostNetwork: expected boolean, got &{1}"),
        (
            {"spec": {"nodeName": {"a": [1]}}},
            ".spec.nodeName: expected string, got &value.valueUnstructured"
            '{Value:map[string]interface {}{"a":[]interface {}{1}}}',
        ),
        ({"spec": {"containers": {}}}, ".spec.containers: expected list, got &{map[]}"),
        ({"spec": [1]}, ".spec: expected map, got &{[1]}"),
        ({"spec": {"containers": [None]}},
         ".spec.containers: element 0: associative list with keys may not have a null element"),
        ({"spec": {"containers": ["x"]}},
         ".spec.containers: element 0: associative list with keys may not have non-map elements"),
        ({"metadata": {"finalizers": [{}]}},
         ".metadata.finalizers: element 0: associative list without keys has an element that's a map type"),
        ({"metadata": {"finalizers": ["a", "a"]}}, '.metadata.finalizers: duplicate entries for key [="a"]'),
        (
            {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1}, {"containerPort": 1}]}]}},
            '.spec.containers[name="c"].ports: duplicate entries for key [containerPort=1,protocol="TCP"]',
        ),
        (
            {"spec": {"containers": [{"name": "c", "args": [1]}], "nodeName": 2}},
            'errors:\n  .spec.containers[name="c"].args[0]: expected string, '
            "got &value.valueUnstructured{Value:1}\n"
            "  .spec.nodeName: expected string, got &value.valueUnstructured{Value:2}",
        ),
        ({"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": []}}}]}},
         '.spec.containers[name="c"].resources.limits.cpu: expected any scalar, got &{[]}'),
        ({"spec": {"containers": [{"resources": {"limits": {"cpu": 1}}}], "priority": None}}, ""),
    ],
)  # fmt: skip
def test_a_configuration_is_checked_against_the_schema(body: dict[str, Any], problem: str) -> None:
    assert shape_check.problem_of(body, POD) == problem


def test_a_list_key_without_default_must_be_there() -> None:
    accounts = table.find("", "v1", "serviceaccounts")
    assert accounts is not None
    assert shape_check.problem_of({"secrets": [{"kind": "x"}]}, shape.shape_of(accounts)) == (
        '.secrets: element 0: associative list with keys has an element that omits key field "name" '
        "(and doesn't have default value)"
    )
