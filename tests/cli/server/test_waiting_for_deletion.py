"""Waiting ends when it should, however objects come and go meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, cast

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.arguments.targets import Target
from longshore.cli.server import wait_for
from longshore.cli.server.requests import Server

POD: Obj = {"metadata": {"name": "x", "namespace": "default", "uid": "1"}}
Watch: TypeAlias = tuple[list[Obj], list[tuple[str, Obj]]]
"""The objects in a list, and the events of the watch after it."""


class _Kind:
    def path(self, namespace: str) -> str:
        return f"/api/v1/namespaces/{namespace}/pods"


class _Target:
    name, namespace, path, kind = "x", "default", "/api/v1/namespaces/default/pods/x", _Kind()


class _Server:
    """Answers the GET of the pod with it, and each list and its watch with what is scripted for them."""

    def __init__(self, *watches: Watch) -> None:
        self._watches = [*watches]

    def json(self, method: str, path: str, *, query: Any = None) -> Obj:
        if query is None:
            return POD
        if not self._watches:
            pytest.fail("it waits for ever")
        return {"kind": "PodList", "metadata": {"resourceVersion": "9"}, "items": self._watches[0][0]}

    def events(self, path: str, query: Any, *, until: float | None) -> Iterator[tuple[str, Obj]]:
        assert query["resourceVersion"] == "9"
        yield from self._watches.pop(0)[1]


def _deleted(*watches: Watch, uid: str = "1") -> bool:
    server, target = cast(Server, _Server(*watches)), cast(Target, _Target())
    return wait_for.deleted(server, target, None, uid)


def test_an_object_that_goes_between_the_look_and_the_watch_is_gone() -> None:
    assert _deleted(([], []))


def test_an_object_that_goes_during_the_watch_is_gone() -> None:
    assert _deleted(([POD], [("DELETED", POD)]))


def test_an_object_that_goes_between_two_watches_is_gone() -> None:
    assert _deleted(([POD], []), ([], []))


def test_another_object_of_the_name_is_not_the_one_that_went() -> None:
    other = {"metadata": {**POD["metadata"], "uid": "2"}}
    assert _deleted(([other], []))


def test_a_server_that_refuses_the_watch_is_heard() -> None:
    class Refusing(_Server):
        def events(self, path: str, query: Any, *, until: float | None) -> Iterator[tuple[str, Obj]]:
            raise StatusError(403, "Forbidden", "no")

    with pytest.raises(StatusError, match="no"):
        wait_for.deleted(cast(Server, Refusing(([POD], []))), cast(Target, _Target()), None, "1")


def test_a_condition_is_waited_for_however_often_the_object_is_deleted() -> None:
    ready = {**POD, "status": {"phase": "Running"}}
    came_and_went: Watch = [], [("ADDED", POD), ("DELETED", POD)]
    server = cast(Server, _Server(came_and_went, came_and_went, came_and_went, ([ready], [])))
    until = wait_for.deadline(600)
    assert wait_for.fulfilled(server, cast(Target, _Target()), lambda obj: "status" in obj, until)
