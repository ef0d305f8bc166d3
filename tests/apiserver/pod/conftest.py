"""Pods to try the rules on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apiserver.pod.pod_scene import Pods
from longshore.api.errors import StatusError
from longshore.api.types import Obj


@pytest.fixture
def pods() -> Pods:
    return Pods()


@pytest.fixture
def problems(pods: Pods) -> Callable[[Obj], list[str]]:
    """What is wrong with a pod of this spec (one container is added if it has none)."""

    def find(spec: Obj) -> list[str]:
        spec = {"containers": [{"name": "main", "image": "i:1"}], **spec}
        try:
            pods.create({"metadata": {"name": "p"}, "spec": spec})
        except StatusError as error:
            causes = (error.details or {}).get("causes") or []
            return [f"{c['field']}: {c['message']}" for c in causes] or [error.message]
        return []

    return find


@pytest.fixture
def update_problems(pods: Pods) -> Callable[[Obj, Obj], list[str]]:
    """What is wrong with changing a pod of the first spec by a merge patch of the second."""

    def find(spec: Obj, patch: Obj) -> list[str]:
        spec = {"containers": [{"name": "main", "image": "i:1"}], **spec}
        pods.create({"metadata": {"name": "p"}, "spec": spec})
        try:
            pods.patch("p", {"spec": patch})
        except StatusError as error:
            return [f"{c['field']}: {c['message']}" for c in (error.details or {})["causes"]]
        return []

    return find
