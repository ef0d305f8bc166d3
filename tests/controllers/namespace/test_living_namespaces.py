"""The namespace controller at work: how much it asks, and how often it writes while something fails."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from longshore.api.errors import StatusError
from longshore.client.ask import Ask, Page
from longshore.client.local import LocalClient
from longshore.controllers.namespace import run
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside
from machinery.control_plane import MAPS, api

SPACES = ("v1", "Namespace")


class Counting(LocalClient):
    """Counts looks at what is served and writes; refuses to delete ConfigMaps while `refuses`."""

    def __init__(self, client: LocalClient) -> None:
        super().__init__(client.api)
        self.discoveries = self.writes = 0
        self.refuses = False

    async def resources(self) -> list[Any]:
        self.discoveries += 1
        return await super().resources()

    async def update_status(self, what: Any, *arguments: Any, **options: Any) -> Any:
        self.writes += 1
        return await super().update_status(what, *arguments, **options)

    async def _page(self, ask: Ask) -> Page:
        if self.refuses and ask.verb == "deletecollection" and ask.resource.plural == "configmaps":
            raise StatusError(500, "InternalError", f"not now, {self.writes}")
        return await super()._page(ask)


def test_what_is_served_is_found_out_once_for_each_namespace() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            theirs = Counting(client)
            await client.create(MAPS, {"metadata": {"name": "m", "finalizers": ["x/y"]}}, "ns")
            async with beside(run(ControllerContext(theirs, clock=clock, rng=clock.rng))):
                await client.delete(SPACES, "ns")
                await clock.sleep(60)
                assert (await client.get(SPACES, "ns"))["status"]["phase"] == "Terminating"
                await client.patch(MAPS, "m", {"metadata": {"finalizers": None}}, "ns")
                await clock.sleep(60)
                assert [space["metadata"]["name"] for space in (await client.list(SPACES)).items] == []
            assert theirs.discoveries == 1

    virtual.run(main)


def test_namespaces_that_are_deleted_together_share_what_was_found_out() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            theirs = Counting(client)
            for number in range(27):
                await client.create(SPACES, {"metadata": {"name": f"n{number}"}})
                await client.create(MAPS, {"metadata": {"name": "m", "finalizers": ["x/y"]}}, f"n{number}")
            async with beside(run(ControllerContext(theirs, clock=clock, rng=clock.rng, workers=1))):
                for number in range(27):
                    await client.delete(SPACES, f"n{number}")
                await clock.sleep(60)
                for number in range(27):
                    await client.patch(MAPS, "m", {"metadata": {"finalizers": None}}, f"n{number}")
                await clock.sleep(60)
                assert [space["metadata"]["name"] for space in (await client.list(SPACES)).items] == ["ns"]
            assert theirs.discoveries <= 5  # two GETs each: kube-controller-manager sends 27

    virtual.run(main)


def test_a_namespace_that_is_deleted_later_is_emptied_of_kinds_that_are_served_by_then() -> None:
    late = {
        "metadata": {"name": "lates.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "lates", "kind": "Late"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                    },
                }
            ],
        },
    }

    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            theirs = Counting(client)
            async with beside(run(ControllerContext(theirs, clock=clock, rng=clock.rng))):
                await client.create(SPACES, {"metadata": {"name": "again"}})
                await client.delete(SPACES, "again")
                await clock.sleep(10)
                await client.create(("apiextensions.k8s.io/v1", "CustomResourceDefinition"), late)
                await clock.sleep(10)
                await client.create(SPACES, {"metadata": {"name": "again"}})
                for space in ("ns", "again"):
                    await client.create(("example.com/v1", "Late"), {"metadata": {"name": "l"}}, space)
                    await client.delete(SPACES, space)
                await clock.sleep(10)
                assert (await client.list(("example.com/v1", "Late"))).items == []

    virtual.run(main)


def test_problems_that_stay_are_told_less_and_less_often() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            theirs = Counting(client)
            theirs.refuses = True
            await client.create(MAPS, {"metadata": {"name": "m"}}, "ns")
            async with beside(run(ControllerContext(theirs, clock=clock, rng=clock.rng))):
                await client.delete(SPACES, "ns")
                await clock.sleep(300)
                assert 3 < theirs.writes < 20
                theirs.refuses = False
                await clock.sleep(60)
                assert [space["metadata"]["name"] for space in (await client.list(SPACES)).items] == []

    virtual.run(main)


def test_a_kind_that_is_served_no_more_holds_no_namespace() -> None:
    class Outdated(LocalClient):
        async def resources(self) -> list[Any]:
            found = await super().resources()
            maps = next(each for each in found if each.plural == "configmaps")
            return [*found, replace(maps, group="gone.example", plural="gones")]

    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            theirs = Outdated(client.api)
            async with beside(run(ControllerContext(theirs, clock=clock, rng=clock.rng))):
                await client.delete(SPACES, "ns")
                await clock.sleep(60)
                assert [space["metadata"]["name"] for space in (await client.list(SPACES)).items] == []

    virtual.run(main)
