"""What pods leave on disk goes with them, whatever is odd about those that go at the same time."""

from __future__ import annotations

from collections.abc import Iterable

from longshore.api.facts.pod_state import COMPLETION_INDEX
from longshore.node.archive import Archive
from longshore.node.runtime import Key
from longshore.testing.scripted_runtime import Run, ScriptedMachine, ScriptedRuntime
from support.node_world import NS, PODS, World, a_pod, scripted, told

FAILS = scripted(main=Run(1.0, code=1, logs="said\n"))


async def ended_and_deleted(world: World, *names: str) -> None:
    for name in names:
        await world.phase("Succeeded", "Failed", name=name)
    for name in names:
        await world.client.delete(PODS, name, NS)


async def no_logs_are_left(world: World) -> None:
    async def there() -> bool:
        return not any((world.root / "logs").iterdir())

    await world.until(there)


def test_an_index_that_is_no_number_keeps_nobodys_logs_out_of_the_archive() -> None:
    def archived(world: World) -> None:
        world.archive = Archive(world.root / "archive")

    async def story(world: World) -> None:
        await world.create(a_pod("odd", annotations={COMPLETION_INDEX: "first"}))
        await world.create(a_pod("other"))
        await ended_and_deleted(world, "odd", "other")
        await no_logs_are_left(world)
        assert world.archive is not None
        assert sorted(record["name"] for record in world.archive.of(NS)) == ["odd", "other"]

    told(story, FAILS, before=archived)


def test_a_name_too_long_for_a_file_leaves_no_logs_of_others_behind() -> None:
    async def story(world: World) -> None:
        long = "x" * 250
        await world.create(a_pod(long))
        await world.create(a_pod("other"))
        await ended_and_deleted(world, long, "other")
        await no_logs_are_left(world)

    said = Run(1.0, logs="said\n")
    told(story, lambda container: said if container.pod == "other" else Run(1.0))


class Forgetful(ScriptedRuntime):
    """An engine that cannot be reached when it is first asked to forget something."""

    def __init__(self, machine: ScriptedMachine) -> None:
        super().__init__(machine)
        self.is_gone = True

    async def remove(self, keys: Iterable[Key]) -> None:
        if self.is_gone:
            self.is_gone = False
            raise ConnectionError("the keeper is gone")
        await super().remove(keys)


def test_files_go_where_an_engine_cannot_be_reached_and_it_is_asked_again() -> None:
    def unreachable(world: World) -> None:
        world.runtimes = {"process": Forgetful(world.machine)}

    async def story(world: World) -> None:
        await world.create(terminationGracePeriodSeconds=1)
        await world.phase("Running")
        uid = (await world.client.get(PODS, "p", NS))["metadata"]["uid"]
        await world.client.delete(PODS, "p", NS)
        await world.gone()
        await world.clock.sleep(5)
        assert world.preparer.removed == [uid]
        await world.create(a_pod("next"))
        await world.phase("Running", name="next")
        await world.client.delete(PODS, "next", NS)
        await world.clock.sleep(5)
        assert world.machine.states == {}

    told(story, scripted(main=Run(None, on_term=0.0)), before=unreachable)
