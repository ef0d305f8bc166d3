"""A namespace that is being emptied: another delete of it changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("policy", ["Foreground", "Orphan", "Background"])
async def test_a_later_delete_leaves_it_as_the_first_one_made_it(server: Any, policy: str) -> None:
    await server.create("namespaces", {"metadata": {"name": "team"}})
    await server.delete("namespaces", "team", propagationPolicy="Background")
    before = await server.get("namespaces", "team")
    await server.delete("namespaces", "team", propagationPolicy=policy)
    assert await server.get("namespaces", "team") == before


async def test_the_first_delete_chooses_how_dependents_go(server: Any) -> None:
    await server.create("namespaces", {"metadata": {"name": "team"}})
    await server.delete("namespaces", "team", propagationPolicy="Foreground")
    found = await server.get("namespaces", "team")
    assert found["metadata"]["finalizers"] == ["foregroundDeletion"]
    await server.delete("namespaces", "team", propagationPolicy="Background")
    assert await server.get("namespaces", "team") == found
