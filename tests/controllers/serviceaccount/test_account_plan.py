"""What the service account controller decides: a view in, a plan out."""

from __future__ import annotations

from typing import Any

import msgspec

from longshore.controllers.serviceaccount import ServiceAccountView, decide

CA = "-----BEGIN CERTIFICATE-----"


def namespace(name: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}}


def config_map(data: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "kube-root-ca.crt", "namespace": "a", "resourceVersion": "7"}, "data": data}


def test_every_namespace_gets_an_account_and_the_authority() -> None:
    first, second = decide(ServiceAccountView([namespace("a"), namespace("b")], {"a"}, {}, CA))
    assert first.account is None
    assert second.account == {"metadata": {"name": "default", "namespace": "b"}}
    for name, plan in (("a", first), ("b", second)):
        assert plan.config_map is not None
        assert plan.config_map["metadata"]["namespace"] == name
        assert plan.config_map["data"] == {"ca.crt": CA}
        assert "kubernetes.io/description" in plan.config_map["metadata"]["annotations"]
    assert [reason.code for reason in second.why] == ["AccountCreated", "AuthorityCreated"]


def test_a_namespace_that_is_going_gets_nothing() -> None:
    assert (
        decide(ServiceAccountView([namespace("a", deletionTimestamp="2026-05-04T12:00:00Z")], (), {}, CA))
        == []
    )


def test_an_authority_that_was_changed_is_put_right_on_the_version_that_was_seen() -> None:
    (plan,) = decide(ServiceAccountView([namespace("a")], {"a"}, {"a": config_map({"ca.crt": "other"})}, CA))
    assert plan.repair is not None
    assert plan.repair["data"] == {"ca.crt": CA}
    assert plan.repair["metadata"]["resourceVersion"] == "7"
    assert plan.account is plan.config_map is None


def test_what_is_right_is_left_alone() -> None:
    assert decide(ServiceAccountView([namespace("a")], {"a"}, {"a": config_map({"ca.crt": CA})}, CA)) == []


def test_a_saved_view_gives_the_same_plan() -> None:
    seen = ServiceAccountView(
        [namespace("a"), namespace("b")], ["a"], {"a": config_map({"ca.crt": "other"})}, CA
    )
    loaded = msgspec.json.decode(msgspec.json.encode(seen), type=ServiceAccountView)
    assert loaded == seen
    assert decide(loaded) == decide(seen)
