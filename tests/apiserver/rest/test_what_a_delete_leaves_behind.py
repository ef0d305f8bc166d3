"""A delete that does not say what becomes of dependents: each kind has its own habit."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.anyio


async def test_a_replication_controller_leaves_its_pods_unless_it_is_told_otherwise(server: Any) -> None:
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "busybox"}]}}
    body = {"metadata": {"name": "rc"}, "spec": {"selector": {"a": "b"}, "template": pod}}
    await server.create("replicationcontrollers", body)
    await server.delete("replicationcontrollers", "rc")
    found = await server.get("replicationcontrollers", "rc")
    assert found["metadata"]["finalizers"] == ["orphan"]
    await server.delete("replicationcontrollers", "rc", propagationPolicy="Background")
    assert await server.names("replicationcontrollers") == []
