"""What the service account controller decides: a view in, a plan out."""

from __future__ import annotations

from typing import Any

from longshore.controllers.serviceaccount.decide import View, decide

CA = "-----BEGIN CERTIFICATE-----"


def namespace(name: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}}


def config_map(data: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "kube-root-ca.crt", "namespace": "a", "resourceVersion": "7"}, "data": data}


def test_every_namespace_gets_an_account_and_the_authority() -> None:
    plan = decide(View([namespace("a"), namespace("b")], {("a", "default")}, {}, CA))
    assert [o["metadata"] for o in plan.accounts] == [{"name": "default", "namespace": "b"}]
    assert [(o["metadata"]["namespace"], o["data"]) for o in plan.config_maps] == [
        ("a", {"ca.crt": CA}),
        ("b", {"ca.crt": CA}),
    ]
    assert "kubernetes.io/description" in plan.config_maps[0]["metadata"]["annotations"]


def test_a_namespace_that_is_going_gets_nothing() -> None:
    plan = decide(View([namespace("a", deletionTimestamp="2026-05-04T12:00:00Z")], (), {}, CA))
    assert plan.accounts == plan.config_maps == plan.repairs == ()


def test_an_authority_that_was_changed_is_put_right_on_the_version_that_was_seen() -> None:
    maps = {("a", "kube-root-ca.crt"): config_map({"ca.crt": "other"})}
    plan = decide(View([namespace("a")], {("a", "default")}, maps, CA))
    (repair,) = plan.repairs
    assert repair["data"] == {"ca.crt": CA}
    assert repair["metadata"]["resourceVersion"] == "7"


def test_what_is_right_is_left_alone() -> None:
    maps = {("a", "kube-root-ca.crt"): config_map({"ca.crt": CA})}
    plan = decide(View([namespace("a")], {("a", "default")}, maps, CA))
    assert plan.accounts == plan.config_maps == plan.repairs == ()
