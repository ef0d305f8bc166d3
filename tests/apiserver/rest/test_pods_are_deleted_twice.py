"""A second delete of a pod that is still being stopped: only a shorter grace period changes anything."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.types import Obj

pytestmark = pytest.mark.anyio


async def _stopping(server: Any, grace: int) -> Obj:
    """A pod on a node that may take `grace` seconds to stop; its own wish is 30."""
    containers = [{"name": "main", "image": "busybox"}]
    spec = {"nodeName": "n", "containers": containers}
    await server.create("pods", {"metadata": {"name": "p"}, "spec": spec})
    await server.delete("pods", "p", gracePeriodSeconds=str(grace))
    found: Obj = await server.get("pods", "p")
    assert found["metadata"]["deletionGracePeriodSeconds"] == grace
    return found


async def test_one_that_names_no_grace_period_leaves_the_longer_one_that_was_asked_for(server: Any) -> None:
    before = await _stopping(server, 300)
    await server.delete("pods", "p")
    assert await server.get("pods", "p") == before


async def test_one_of_a_collection_leaves_it_too(server: Any) -> None:
    before = await _stopping(server, 300)
    await server.api.delete_collection(server.call("pods", "deletecollection"))
    assert await server.get("pods", "p") == before


@pytest.mark.parametrize("grace", [{}, {"gracePeriodSeconds": "300"}, {"gracePeriodSeconds": "400"}])
async def test_a_pod_that_has_ended_meanwhile_stays_for_its_node_to_remove(
    server: Any, grace: dict[str, str]
) -> None:
    await _stopping(server, 300)
    await server.patch("pods", "p", {"status": {"phase": "Succeeded"}}, subresource="status")
    before = await server.get("pods", "p")
    await server.delete("pods", "p", **grace)
    assert await server.get("pods", "p") == before


async def test_a_shorter_one_counts_whatever_has_become_of_the_pod(server: Any) -> None:
    await _stopping(server, 300)
    await server.patch("pods", "p", {"status": {"phase": "Succeeded"}}, subresource="status")
    await server.delete("pods", "p", gracePeriodSeconds="200")
    assert (await server.get("pods", "p"))["metadata"]["deletionGracePeriodSeconds"] == 200


async def test_a_negative_one_is_a_second(server: Any) -> None:
    await _stopping(server, 300)
    await server.delete("pods", "p", gracePeriodSeconds="-5")
    assert (await server.get("pods", "p"))["metadata"]["deletionGracePeriodSeconds"] == 1


async def test_none_at_all_removes_the_pod(server: Any) -> None:
    await _stopping(server, 300)
    await server.delete("pods", "p", gracePeriodSeconds="0")
    assert await server.names("pods") == []
