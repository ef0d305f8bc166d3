"""Pods that keep more on disk than they may are evicted."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from longshore.api.types import Obj
from longshore.node.eviction import budget_of, excess, usage
from longshore.testing.scripted_runtime import Run
from support.node_world import World, scripted, told


def test_an_empty_dir_beyond_its_limit_evicts_the_pod() -> None:
    async def story(world: World) -> None:
        place = world.root / "cache"
        place.mkdir()
        prepared = SimpleNamespace(volumes={"cache": SimpleNamespace(path=str(place))}, follows=False)

        async def pod(pod: Obj) -> object:
            return prepared

        world.preparer.pod = pod  # type: ignore[method-assign, assignment]
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
    budget = budget_of(spec, {"v": volume, "m": memory}, logs)
    assert budget is not None
    assert excess(budget) == ""
    (memory / "f").write_bytes(b"x" * 200_000)
    (volume / "f").write_bytes(b"x" * 50_000)
    assert excess(budget) == ""
    (logs / "main" / "0.log").write_bytes(b"x" * 30_000)
    assert excess(budget).startswith(
        "Pod ephemeral local storage usage exceeds the total limit of containers"
    )
    (logs / "main" / "0.log").write_bytes(b"x" * 80_000)
    assert excess(budget) == 'Container main exceeded its local ephemeral storage limit "64Ki". '


def test_a_pod_without_limits_is_not_looked_at(tmp_path: Path) -> None:
    assert budget_of({"containers": [{"name": "main"}]}, {}, tmp_path) is None
    assert usage(tmp_path / "missing") == 0
