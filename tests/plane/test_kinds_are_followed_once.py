"""Controllers of one process follow a kind together, with all that one of them reads of it."""

from __future__ import annotations

import random

import pytest

from longshore.api.facts import kinds
from longshore.api.facts.kinds import Kind
from longshore.apiserver.api import Api, ApiParts
from longshore.client.local import LocalClient
from longshore.client.projection import Projection
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane.controllers import reads_of
from longshore.store import Store

OF_PODS = Projection("metadata.labels", "status.phase")


@pytest.mark.parametrize(
    ("controllers", "together", "apart"),
    [
        (("job", "ttl"), (kinds.PODS, kinds.JOBS), (kinds.VOLCANO_JOBS, kinds.POD_GROUPS)),
        (("volcano-job",), (kinds.PODS, kinds.VOLCANO_JOBS, kinds.POD_GROUPS), (kinds.JOBS,)),
        (("garbage", "volcano-podgroup"), (), (kinds.PODS, kinds.JOBS, kinds.VOLCANO_JOBS, kinds.POD_GROUPS)),
    ],
)
def test_a_kind_is_followed_once_with_the_union_of_what_is_read(
    controllers: tuple[str, ...], together: tuple[Kind, ...], apart: tuple[Kind, ...]
) -> None:
    async def main(clock: VirtualClock) -> None:
        store, reads = Store.open(None), reads_of(controllers)
        assert {*reads} == {*together}
        client = LocalClient(Api(ApiParts(store, clock, clock.rng)))
        informers = Informers(client, clock=clock, rng=random.Random(0), reads=reads)
        for what in (*together, *apart):
            names = informers.share().get(what, reads=Projection())
            for own in (reads_of((name,)).get(what, OF_PODS) for name in controllers):
                assert informers.follows_all(what, own) is (what in together)
                assert (informers.share().get(what, reads=own).cache is names.cache) is (what in together)
            whole = informers.share().get(what)
            assert whole.cache is not names.cache

    virtual.run(main)
