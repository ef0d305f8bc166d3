"""Namespaces: finalizers, phase, and the three that stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.strategy import Context
from longshore.api.types import Obj
from support import hooks


@pytest.fixture
def namespaces(kind: Callable[..., Any]) -> Any:
    return kind("namespaces")


@pytest.fixture
def team(namespaces: Any) -> Obj:
    created: Obj = namespaces.create({"metadata": {"name": "team"}})
    return created


def test_clients_cannot_set_phase_or_lose_the_finalizer(namespaces: Any) -> None:
    body = {"metadata": {"name": "n"}, "spec": {"finalizers": ["a.io/x"]}, "status": {"phase": "Terminating"}}
    created = namespaces.create(body)
    assert created["spec"]["finalizers"] == ["a.io/x", "kubernetes"]
    assert created["status"] == {"phase": "Active"}


def test_a_generated_name_is_a_label_too(namespaces: Any) -> None:
    unnamed = hooks.decoded(namespaces.resource, {"metadata": {"generateName": "n-"}})
    unnamed["metadata"]["name"] = "n-abcde"
    namespaces.resource.strategy.prepare_create(unnamed, Context("2021-01-01T00:00:00Z"))
    assert unnamed["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n-abcde"}


def test_a_bad_finalizer_is_refused(namespaces: Any) -> None:
    body = {"metadata": {"name": "n"}, "spec": {"finalizers": ["short"]}}
    assert namespaces.refusal(namespaces.create, body) == (
        'spec.finalizers: Invalid value: "short": '
        "name is neither a standard finalizer name nor is it fully qualified"
    )


def test_plain_updates_leave_finalizers_and_status_alone_and_restore_the_name_label(
    namespaces: Any, team: Obj
) -> None:
    changed = namespaces.update(
        team, {"spec": {}, "status": {}, "metadata": {**team["metadata"], "labels": {"a": "b"}}}
    )
    assert changed["spec"] == team["spec"]
    assert changed["status"] == team["status"]
    assert changed["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "team"}


def test_finalize_writes_the_finalizers_and_nothing_of_the_status(namespaces: Any, team: Obj) -> None:
    done = namespaces.update(team, {"spec": {}, "status": {"phase": "Terminating"}}, "finalize")
    assert not done["spec"].get("finalizers")
    assert done["status"] == {"phase": "Active"}
    strategy = namespaces.resource.strategy
    assert strategy.holds(team)
    assert not strategy.holds(done)


def test_the_phase_follows_the_deletion_time_stamp(namespaces: Any, team: Obj) -> None:
    assert namespaces.refusal(namespaces.update, team, {"status": {"phase": "Terminating"}}, "status") == (
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    )
    leaving = {**team, "metadata": {**team["metadata"], "deletionTimestamp": "2021-01-01T00:00:00Z"}}
    assert namespaces.refusal(namespaces.update, leaving, {"status": {"phase": "Active"}}, "status") == (
        'status.Phase: Invalid value: "Active": '
        "may only be 'Terminating' if `deletionTimestamp` is not empty"
    )


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_three_namespaces_can_never_be_deleted(namespaces: Any, name: str) -> None:
    with pytest.raises(StatusError) as caught:
        namespaces.resource.strategy.check_deletable({"metadata": {"name": name}})
    assert caught.value.code == 403
    assert caught.value.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_any_other_namespace_can_be_deleted_and_becomes_terminating(namespaces: Any, team: Obj) -> None:
    strategy = namespaces.resource.strategy
    strategy.check_deletable(team)
    leaving = dict(team)
    strategy.begin_deletion(leaving)
    assert leaving["status"] == {"phase": "Terminating"}
    assert team["status"] == {"phase": "Active"}
