"""Objects that own each other: none may wait for ever."""

from __future__ import annotations

import pytest

from controllers.garbage.garbage_scene import MAPS, POD_SPEC, PODS, Scene, owner, play
from longshore.api.types import Obj
from longshore.client import What

BODY: dict[What, Obj] = {MAPS: {}, PODS: {"spec": POD_SPEC}}


async def ring(scene: Scene, what: tuple[str, str], size: int) -> list[str]:
    """Each owns the next, the last the first; all block."""
    names = [f"m{n}" for n in range(size)]
    made = [await scene.make(what, name, body=BODY[what]) for name in names]
    for n, name in enumerate(names):
        refs = [owner(made[n - 1], what)]
        await scene.client.patch(what, name, {"metadata": {"ownerReferences": refs}}, "default")
    return names


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("what", [MAPS, PODS])
def test_a_ring_goes_when_one_member_is_deleted_in_the_foreground(what: tuple[str, str], size: int) -> None:
    async def script(scene: Scene) -> None:
        names = await ring(scene, what, size)
        await scene.settle()
        assert await scene.names(what) == names
        await scene.delete(names[0], "Foreground", what)
        await scene.settle()
        assert await scene.names(what) == []

    play(script)


def test_a_ring_goes_when_all_members_are_deleted_in_the_foreground_at_once() -> None:
    async def script(scene: Scene) -> None:
        for name in await ring(scene, MAPS, 4):
            await scene.delete(name, "Foreground")
        await scene.settle()
        assert await scene.names() == []

    play(script)


def test_a_ring_with_a_held_tail_goes_when_the_tail_is_released() -> None:
    async def script(scene: Scene) -> None:
        names = await ring(scene, MAPS, 3)
        middle = await scene.get(names[1])
        assert middle is not None
        await scene.config("tail", owner(middle), finalizers=["example.com/hold"])
        for name in names:
            await scene.delete(name, "Foreground")
        await scene.settle(600)
        assert "tail" in (left := await scene.names())
        assert names[1] in left
        await scene.client.patch(MAPS, "tail", {"metadata": {"finalizers": None}}, "default")
        await scene.settle()
        assert await scene.names() == []

    play(script)


def test_a_ring_goes_in_the_background() -> None:
    async def script(scene: Scene) -> None:
        names = await ring(scene, MAPS, 3)
        await scene.delete(names[0])
        await scene.settle()
        assert await scene.names() == []

    play(script)


def test_an_object_that_owns_itself_can_be_deleted() -> None:
    async def script(scene: Scene) -> None:
        [name] = await ring(scene, MAPS, 1)
        await scene.delete(name, "Foreground")
        await scene.settle()
        assert await scene.names() == []

    play(script)
