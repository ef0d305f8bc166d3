"""Shapes of built-in kinds say what server-side apply must know."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api import schema, shape
from longshore.api.kinds import table
from longshore.api.shape import ListShape, MapShape, ScalarShape, Shape, UntypedShape


def at(message: str, *names: str) -> Shape:
    """The shape of a field, through list items where there are any."""
    found: Shape = shape.shape_of_message(message)
    for name in names:
        if isinstance(found, ListShape):
            found = found.element
        assert isinstance(found, MapShape)
        found = found.fields[name]
    return found


@pytest.mark.parametrize(
    ("names", "type_", "keys", "defaults"),
    [
        (("spec", "containers"), "map", ("name",), {"name": ""}),
        (("spec", "containers", "ports"), "map", ("containerPort", "protocol"),
         {"containerPort": 0, "protocol": "TCP"}),
        (("spec", "ephemeralContainers", "ports"), "map", ("containerPort", "protocol"),
         {"containerPort": 0, "protocol": "TCP"}),
        (("spec", "ephemeralContainers", "args"), "atomic", (), {}),
        (("spec", "imagePullSecrets"), "map", ("name",), {"name": ""}),
        (("spec", "tolerations"), "atomic", (), {}),
        (("metadata", "finalizers"), "set", (), {}),
        (("metadata", "ownerReferences"), "map", ("uid",), {"uid": ""}),
        (("status", "hostIPs"), "atomic", (), {}),
    ],
)  # fmt: skip
def test_lists_of_pods(names: tuple[str, ...], type_: str, keys: tuple[str, ...], defaults: Any) -> None:
    found = at("core/v1.Pod", *names)
    assert isinstance(found, ListShape)
    assert (found.type, found.keys, found.defaults) == (type_, keys, defaults)


def test_a_key_that_may_be_left_out_has_no_default() -> None:
    found = at("core/v1.ServiceAccount", "secrets")
    assert isinstance(found, ListShape)
    assert (found.keys, found.defaults) == (("name",), {})


@pytest.mark.parametrize(
    ("message", "names", "atomic"),
    [
        ("core/v1.Pod", ("spec", "nodeSelector"), True),
        ("core/v1.Pod", ("metadata", "labels"), False),
        ("batch/v1.Job", ("spec", "selector"), True),
        ("core/v1.PersistentVolume", ("spec", "claimRef"), False),
        ("core/v1.PersistentVolumeClaim", ("spec", "dataSource"), True),
    ],
)
def test_maps_are_one_leaf_where_the_schema_says_so(
    message: str, names: tuple[str, ...], atomic: bool
) -> None:
    found = at(message, *names)
    assert isinstance(found, MapShape)
    assert found.atomic is atomic


def test_types_that_contain_themselves_are_described() -> None:
    props = at("apiextensions/v1.CustomResourceDefinition", "spec", "versions", "schema", "openAPIV3Schema")
    assert isinstance(props, MapShape)
    assert props.fields["not"] is props


def test_quantities_and_times_take_any_scalar_and_free_content_has_no_shape() -> None:
    limits = at("core/v1.Container", "resources", "limits")
    assert isinstance(limits, MapShape)
    assert isinstance(limits.element, ScalarShape)
    assert limits.element.type == "untyped"
    assert isinstance(at("apps/v1.ControllerRevision", "data"), UntypedShape)


def test_a_path_with_a_status_of_its_own_keeps_both_apart() -> None:
    pods, secrets = (table.find("", "v1", name) for name in ("pods", "secrets"))
    assert pods is not None
    assert secrets is not None
    resets = shape.shape_of(pods).resets
    assert resets[""] == {"f:status": {}}
    assert resets["status"] == {
        "f:spec": {},
        "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}},
    }
    assert not shape.shape_of(secrets).resets


def test_every_kind_has_a_shape() -> None:
    for message in schema.kinds().values():
        assert all(isinstance(f, Shape) for f in shape.shape_of_message(message).fields.values())


def test_a_custom_kind_has_kubernetes_metadata_whatever_its_schema_says() -> None:
    found = shape.custom_kind({"metadata": shape.STRING, "spec": shape.UNTYPED}, status_apart=True)
    assert found.fields["metadata"] is shape.shape_of_message("meta/v1.ObjectMeta")
    assert found.zero == {}
    assert found.resets == {"": {"f:status": {}}, "status": {"f:spec": {}}}
