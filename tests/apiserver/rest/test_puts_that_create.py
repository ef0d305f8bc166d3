"""A PUT to a missing object of some kinds creates it, but never in the place of one that was meant."""

from __future__ import annotations

import asyncio

from support.api_in_memory import api_in_memory

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def test_an_object_that_is_gone_is_not_made_anew_for_who_names_its_uid() -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            made = (await server.send("POST", LEASES, {"metadata": {"name": "l"}})).body
            await server.send("DELETE", f"{LEASES}/l")
            answer = await server.send("PUT", f"{LEASES}/l", made)
            assert (answer.code, answer.body["reason"]) == (409, "Conflict")
            uid = made["metadata"]["uid"]
            assert answer.message.endswith(f"UID in precondition: {uid}, UID in object meta: ")
            assert (await server.send("GET", f"{LEASES}/l")).code == 404

    asyncio.run(play())


def test_a_version_does_not_keep_a_missing_object_from_being_made() -> None:
    async def play() -> None:
        async with api_in_memory() as server:
            wanted = {"metadata": {"name": "l", "resourceVersion": "77"}}
            answer = await server.send("PUT", f"{LEASES}/l", wanted)
            assert answer.code == 201
            assert answer.body["metadata"]["resourceVersion"] != "77"

    asyncio.run(play())
