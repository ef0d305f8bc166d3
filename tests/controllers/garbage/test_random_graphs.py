"""Random graphs, rings included, and random deletions: what is left is what the rules say."""

from __future__ import annotations

import random

import pytest

from controllers.garbage.garbage_scene import MAPS, Scene, owner, play
from longshore.api.types import Obj

pytestmark = pytest.mark.long

GROUPS = ("scheduling.volcano.sh/v1beta1", "PodGroup")
POLICIES = ("Background", "Foreground", "Orphan")


class Model:
    """The rules in a few lines: an object goes when it had owners and none of them is left."""

    def __init__(self) -> None:
        self.owners: dict[str, set[str]] = {}

    def add(self, name: str, owners: set[str]) -> None:
        self.owners[name] = owners

    def delete(self, name: str, policy: str) -> None:
        del self.owners[name]
        if policy == "Orphan":
            for owners in self.owners.values():
                owners.discard(name)
            return
        gone = {name}
        while lost := {n for n, owners in self.owners.items() if owners and owners <= gone}:
            gone |= lost
            for each in lost:
                del self.owners[each]
        for owners in self.owners.values():
            owners -= gone


async def left(scene: Scene) -> dict[str, set[str]]:
    found = {}
    for what in (MAPS, GROUPS):
        for obj in (await scene.client.list(what, "default")).items:
            meta = obj["metadata"]
            assert "deletionTimestamp" not in meta, f"{meta['name']} hangs: {meta.get('finalizers')}"
            found[meta["name"]] = {ref["name"] for ref in meta.get("ownerReferences") or ()}
    return found


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_is_what_the_rules_say(seed: int) -> None:
    rng = random.Random(seed)
    size, rings = rng.randint(4, 14), seed % 2 == 1

    async def script(scene: Scene) -> None:
        model = Model()
        made: dict[str, tuple[tuple[str, str], Obj]] = {}
        for n in range(size):
            name, what = f"o{n}", rng.choice((MAPS, GROUPS))
            made[name] = what, await scene.make(what, name)
        for n, (name, (what, _)) in enumerate(made.items()):
            others = [other for m, other in enumerate(made) if (rings or m < n) and other != name]
            chosen = rng.sample(others, min(len(others), rng.choice((0, 1, 1, 1, 2, 3))))
            refs = [owner(made[o][1], made[o][0], blocks=rng.random() < 0.7) for o in chosen]
            await scene.client.patch(what, name, {"metadata": {"ownerReferences": refs}}, "default")
            model.add(name, set(chosen))
        await scene.settle()
        assert await left(scene) == model.owners
        while model.owners:
            name, policy = rng.choice([*model.owners]), rng.choice(POLICIES)
            await scene.delete(name, policy, made[name][0])
            model.delete(name, policy)
            await scene.settle(60)
            assert await left(scene) == model.owners, f"after {policy} deletion of {name}"

    play(script)
