"""longshore.dev: documents of longshore's own, served as resources."""

from __future__ import annotations

import pytest

from longshore.api import resources
from longshore.api.types import Obj
from longshore.apiserver.documents import own_group
from longshore.apiserver.request.call import Call
from support.api_in_memory import api_in_memory

pytestmark = pytest.mark.anyio
TIDES = resources.own("Tide", "tides", namespaced=True, verbs=("get", "list"))
ROOT = "/apis/longshore.dev/v1"


async def tides(call: Call) -> Obj | None:
    if call.verb == "list":
        return {"metadata": {}, "items": []}
    return {"metadata": {"name": call.name}, "height": 3} if call.name == "high" else None


SERVED = (own_group.document(TIDES, tides),)


async def test_a_resource_is_found_by_discovery_and_answers() -> None:
    async with api_in_memory() as without:
        assert (await without.send("GET", ROOT)).code == 404
    async with api_in_memory(documents=SERVED) as server:
        (found,) = (await server.send("GET", ROOT)).body["resources"]
        assert (found["name"], found["verbs"], found["namespaced"]) == ("tides", ["get", "list"], True)
        tide = (await server.send("GET", f"{ROOT}/namespaces/default/tides/high")).body
        assert (tide["apiVersion"], tide["kind"], tide["height"]) == ("longshore.dev/v1", "Tide", 3)
        assert (await server.send("GET", f"{ROOT}/namespaces/default/tides")).body["kind"] == "TideList"


async def test_other_names_verbs_and_versions_are_refused_as_everywhere() -> None:
    async with api_in_memory(documents=SERVED) as server:
        low = await server.send("GET", f"{ROOT}/namespaces/default/tides/low")
        assert (low.code, low.message) == (404, 'tides.longshore.dev "low" not found')
        assert (await server.send("DELETE", f"{ROOT}/namespaces/default/tides/high")).code == 405
        assert (await server.send("GET", f"{ROOT}/namespaces/default/tides", watch="1")).code == 405
        assert (await server.send("GET", "/apis/longshore.dev/v2/namespaces/default/tides")).code == 404
        assert (await server.send("GET", f"{ROOT}/namespaces/default/ebbs")).code == 404
