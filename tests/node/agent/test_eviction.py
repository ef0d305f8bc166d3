"""Pods that keep more on disk than they may are evicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.node.eviction import budget_of, excess, usage
from longshore.node.preparing.types import PreparedPod, Volume
from longshore.testing.scripted_runtime import Run
from support.node_world import World, scripted, told

NODE_MEMORY = 8 << 30


def test_an_empty_dir_beyond_its_limit_evicts_the_pod() -> None:
    async def story(world: World) -> None:
        place = world.root / "cache"
        place.mkdir()

        async def pod(pod: Obj) -> PreparedPod:
            return PreparedPod(pod["metadata"]["uid"], {"cache": Volume(str(place))})

        world.preparer.pod = pod  # type: ignore[method-assign]
        await world.create(volumes=[{"name": "cache", "emptyDir": {"sizeLimit": "10Ki"}}])
        await world.phase("Running")
        await world.clock.sleep(25)
        assert (await world.status())["phase"] == "Running"
        (place / "file").write_bytes(b"x" * 20_000)
        status = await world.phase("Failed")
        assert status["reason"] == "Evicted"
        assert status["message"] == 'Usage of EmptyDir volume "cache" exceeds the limit "10Ki". '
        (why,) = [c for c in status["conditions"] if c["type"] == "DisruptionTarget"]
        assert why["reason"] == "TerminationByKubelet"
        assert "Evicted" in [reason for reason, _ in await world.events()]

    told(story, scripted(main=Run(None)))


def test_logs_count_against_a_containers_limit_and_volumes_against_the_pods(tmp_path: Path) -> None:
    spec: Obj = {
        "containers": [{"name": "main", "resources": {"limits": {"ephemeral-storage": "64Ki"}}}],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory"}}],
    }
    logs, volume, memory = tmp_path / "logs", tmp_path / "v", tmp_path / "m"
    for directory in (logs / "main", volume, memory):
        directory.mkdir(parents=True)
    budget = budget_of(spec, {"v": volume, "m": memory}, logs, NODE_MEMORY)
    assert budget is not None
    assert excess(budget, {}) == ""
    (memory / "f").write_bytes(b"x" * 200_000)
    (volume / "f").write_bytes(b"x" * 50_000)
    assert excess(budget, {}) == ""
    (logs / "main" / "0.log").write_bytes(b"x" * 30_000)
    assert excess(budget, {}).startswith(
        "Pod ephemeral local storage usage exceeds the total limit of containers"
    )
    (logs / "main" / "0.log").write_bytes(b"x" * 80_000)
    assert excess(budget, {}) == 'Container main exceeded its local ephemeral storage limit "64Ki". '


def test_a_tmp_of_its_own_counts_for_its_container_and_a_shared_one_for_the_pod(tmp_path: Path) -> None:
    limits = {"resources": {"limits": {"ephemeral-storage": "64Ki"}}}
    spec: Obj = {"containers": [{"name": "a", **limits}, {"name": "b", **limits}]}
    own, other = tmp_path / "tmp" / "1", tmp_path / "tmp" / "2"
    for directory in (own, other):
        directory.mkdir(parents=True)
    budget = budget_of(spec, {}, tmp_path / "logs", NODE_MEMORY)
    assert budget is not None
    (own / "f").write_bytes(b"x" * 80_000)
    assert excess(budget, {"a": other}) == ""
    assert excess(budget, {"a": other, "b": own}) == (
        'Container b exceeded its local ephemeral storage limit "64Ki". '
    )
    assert excess(budget, {"a": own, "b": own}) == ""
    (own / "g").write_bytes(b"x" * 80_000)
    assert excess(budget, {"a": own, "b": own}) == (
        "Pod ephemeral local storage usage exceeds the total limit of containers 128Ki. "
    )


@pytest.mark.parametrize(
    ("source", "memory", "limit"),
    [
        ({}, [None], "4Gi"),  # half of the node's
        ({}, ["1Gi"], "1Gi"),
        ({}, ["1Gi", "512Mi"], "1536Mi"),
        ({}, ["1Gi", None], "4Gi"),
        ({"sizeLimit": "2Gi"}, ["1Gi"], "1Gi"),
        ({"sizeLimit": "16Mi"}, ["1Gi"], "16Mi"),
        ({"sizeLimit": "16Gi"}, [None], "4Gi"),
    ],
)
def test_a_volume_in_memory_has_a_limit_always(
    tmp_path: Path, source: Obj, memory: list[str | None], limit: str
) -> None:
    containers = [
        {"name": f"c{n}", "resources": {"limits": {"memory": each} if each else {}}}
        for n, each in enumerate(memory)
    ]
    volumes = [{"name": "m", "emptyDir": {"medium": "Memory", **source}}]
    budget = budget_of({"containers": containers, "volumes": volumes}, {"m": tmp_path}, tmp_path, NODE_MEMORY)
    assert budget is not None
    assert [(most, shown) for _, _, most, shown in budget.volumes] == [(quantity.value(limit), limit)]


def test_a_pod_without_limits_is_not_looked_at(tmp_path: Path) -> None:
    assert budget_of({"containers": [{"name": "main"}]}, {}, tmp_path, NODE_MEMORY) is None
    assert usage(tmp_path / "missing") == 0
