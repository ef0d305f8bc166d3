"""Checks of metadata, on create and on update."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.validation import metadata

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u1"}
LABEL_KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def create(**meta: Any) -> list[str]:
    whole = {"name": "n", "namespace": "ns", **meta}
    return [str(p) for p in metadata.validate_create(whole, namespaced=True, name_rule="subdomain")]


def update(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    base = {"name": "n", "namespace": "ns", "uid": "u", "generation": 1, "creationTimestamp": "t"}
    return [str(p) for p in metadata.validate_update({**base, **new}, {**base, **old})]


def test_a_plain_object_has_no_problems() -> None:
    assert create(labels={"a": "b"}, annotations={"x.y/Z": "any\ntext"}, ownerReferences=[OWNER]) == []


def test_a_name_is_needed() -> None:
    assert create(name="") == ["metadata.name: Required value: name or generateName is required"]


def test_generate_name_is_checked_beside_the_name_it_made() -> None:
    problems = create(generateName="Bad_", name="Bad_x")
    assert [p.partition(":")[0] for p in problems] == ["metadata.generateName", "metadata.name"]


def test_the_namespace_must_be_there_for_kinds_that_live_in_one_and_only_for_them() -> None:
    assert create(namespace="") == ["metadata.namespace: Required value"]
    problems = metadata.validate_create({"name": "n", "namespace": "ns"}, namespaced=False, name_rule="label")
    assert [str(p) for p in problems] == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_label_problems_quote_the_key_or_the_value() -> None:
    assert create(labels={"a b": "v"}) == [f'metadata.labels: Invalid value: "a b": {LABEL_KEY}']
    assert create(labels={"a": "x" * 64}) == [
        f'metadata.labels: Invalid value: "{"x" * 64}": must be no more than 63 bytes'
    ]


def test_annotation_keys_may_have_any_case() -> None:
    assert create(annotations={"Example.COM/Key": ""}) == []
    assert create(labels={"Example.COM/Key": ""}) != []


def test_annotations_are_limited_together_and_in_bytes() -> None:
    assert create(annotations={"a": "x" * 262_143}) == []
    too_long = ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    assert create(annotations={"a": "x" * 262_144}) == too_long
    assert create(annotations={"a": "ü" * 131_072}) == too_long


def test_an_owner_reference_must_be_complete() -> None:
    assert create(ownerReferences=[{}]) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]


def test_events_own_nothing() -> None:
    event = {**OWNER, "kind": "Event"}
    assert create(ownerReferences=[event]) == [
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"o","uid":"u1"}: '
        "/v1, Kind=Event is disallowed from being an owner"
    ]


def test_an_object_has_one_controller() -> None:
    first, second = {**OWNER, "controller": True}, {**OWNER, "name": "p", "uid": "u2", "controller": True}
    problems = create(ownerReferences=[first, second])
    assert len(problems) == 1
    assert problems[0].endswith(
        ': Only one reference can have Controller set to true. Found "true" in references for ConfigMap/o '
        "and ConfigMap/p"
    )


def test_a_finalizer_is_qualified_or_one_of_kubernetes() -> None:
    assert create(finalizers=["kubernetes", "orphan", "example.com/a"]) == []
    assert create(finalizers=["mine"]) == [
        'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it '
        "fully qualified"
    ]


def test_custom_resources_may_have_short_finalizers_and_are_warned() -> None:
    meta = {"name": "n", "namespace": "ns", "finalizers": ["b.example", "example.com/a", "a.example"]}
    assert not metadata.validate_create(meta, namespaced=True, name_rule="subdomain", short_finalizers=True)
    text = (
        "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with "
        "other finalizer writers"
    )
    assert metadata.finalizer_warnings(meta) == [
        f'metadata.finalizers: "a.example": {text}',
        f'metadata.finalizers: "b.example": {text}',
    ]
    assert metadata.finalizer_warnings(meta, {"finalizers": ["a.example", "b.example"]}) == []


def test_the_two_finalizers_of_deletion_exclude_each_other() -> None:
    assert create(finalizers=["orphan", "foregroundDeletion"]) == [
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
        "finalizer orphan and foregroundDeletion cannot be both set"
    ]


def test_an_object_that_is_being_deleted_gets_no_new_finalizer() -> None:
    dying = {"deletionTimestamp": "t", "finalizers": ["example.com/a"]}
    assert update({**dying, "finalizers": ["z.io/z", "example.com/a", "b.io/b"]}, dying) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"b.io/b", "z.io/z"}'
    ]
    assert update({**dying, "finalizers": []}, dying) == []


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("uid", "other", '"other"'),
        ("name", "other", '"other"'),
        ("namespace", "other", '"other"'),
        ("creationTimestamp", "later", '"later"'),
        ("deletionTimestamp", "now", '"now"'),
        ("deletionGracePeriodSeconds", 5, "5"),
    ],
)
def test_what_names_an_object_never_changes(key: str, value: Any, shown: str) -> None:
    assert update({key: value}, {}) == [f"metadata.{key}: Invalid value: {shown}: field is immutable"]


def test_the_generation_never_goes_back() -> None:
    assert update({"generation": 1}, {"generation": 2}) == [
        "metadata.generation: Invalid value: 1: must not be decremented"
    ]


def test_every_update_checks_labels_as_a_create_does_and_once_more() -> None:
    problem = f'metadata.labels: Invalid value: "a b": {LABEL_KEY}'
    assert update({"labels": {"a b": "v"}}, {}) == [problem, problem]


def test_names_that_were_accepted_once_stay_acceptable() -> None:
    assert update({"name": "Odd_Name"}, {"name": "Odd_Name"}) == []


def test_selector_expressions_are_checked_one_by_one() -> None:
    selector = {
        "matchLabels": {"a": "b"},
        "matchExpressions": [
            {"key": "k", "operator": "In"},
            {"key": "k", "operator": "Exists", "values": ["v"]},
            {"key": "k", "operator": "Equals", "values": ["v"]},
            {"key": "", "operator": "In", "values": ["v", "-"]},
        ],
    }
    problems = metadata.validate_label_selector(selector, "spec.selector")
    assert [(p.field, p.reason) for p in problems] == [
        ("spec.selector.matchExpressions[0].values", "FieldValueRequired"),
        ("spec.selector.matchExpressions[1].values", "FieldValueForbidden"),
        ("spec.selector.matchExpressions[2].operator", "FieldValueInvalid"),
        ("spec.selector.matchExpressions[3].key", "FieldValueInvalid"),
        ("spec.selector.matchExpressions[3].key", "FieldValueInvalid"),
        ("spec.selector.matchExpressions[3].values[1]", "FieldValueInvalid"),
    ]
    relaxed = metadata.validate_label_selector(selector, "spec.selector", allow_invalid_values=True)
    assert relaxed == problems[:-1]


def test_owners_that_stand_there_twice_are_dropped_with_a_warning() -> None:
    meta = {"ownerReferences": [OWNER, {**OWNER, "controller": True}, dict(OWNER)]}
    assert metadata.drop_duplicate_owners(meta) == [
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
        "and may reject such requests as early as 1.24; please fix your requests; "
        "duplicate UID(s) observed: u1"
    ]
    assert meta["ownerReferences"] == [OWNER, {**OWNER, "controller": True}]
    assert metadata.drop_duplicate_owners(meta) == []
