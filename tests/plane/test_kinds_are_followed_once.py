"""Controllers of one process that keep a kind whole and those that need parts of it follow it together."""

from __future__ import annotations

import random

import pytest

from longshore.api.facts import kinds
from longshore.api.facts.kinds import Kind
from longshore.apiserver.api import Api, ApiParts
from longshore.client.local import LocalClient
from longshore.client.source import Projection
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.wiring import informers_of
from longshore.store import Store


@pytest.mark.parametrize(
    ("controllers", "whole", "parts"),
    [
        (("job",), (kinds.PODS, kinds.JOBS), (kinds.VOLCANO_JOBS, kinds.POD_GROUPS)),
        (("volcano-job",), (kinds.PODS, kinds.VOLCANO_JOBS, kinds.POD_GROUPS), (kinds.JOBS,)),
        (("garbage", "volcano-queue"), (), (kinds.PODS, kinds.JOBS, kinds.VOLCANO_JOBS, kinds.POD_GROUPS)),
    ],
)
def test_parts_of_a_kind_are_cut_out_only_where_nobody_keeps_it_whole(
    controllers: tuple[str, ...], whole: tuple[Kind, ...], parts: tuple[Kind, ...]
) -> None:
    async def main(clock: VirtualClock) -> None:
        store = Store.open(None)
        client = LocalClient(Api(ApiParts(store, clock, clock.rng)))
        informers = informers_of(client, controllers, clock=clock, rng=random.Random(0))
        for what in (*whole, *parts):
            together = informers.get(what)
            alone = informers.share().get(what, reads=Projection())
            assert (alone.cache is together.cache) is (what in whole)
        await store.close()

    virtual.run(main)
