"""Tokens that were asked for together with a pod, a Secret or a node die with it."""

from __future__ import annotations

import pytest

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from support.door import Door, refusal

pytestmark = pytest.mark.anyio

POD: Obj = {
    "metadata": {"name": "p"},
    "spec": {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]},
}
REVIEWS = ("authentication.k8s.io/v1", "TokenReview")
OWNERS = {
    "Pod": (kinds.PODS, POD, "default"),
    "Secret": (kinds.SECRETS, {"metadata": {"name": "p"}}, "default"),
    "Node": (kinds.NODES, {"metadata": {"name": "p"}}, ""),
}


async def token(client: Client, ref: Obj | None) -> str:
    request = {"spec": {"expirationSeconds": 600, **({"boundObjectRef": ref} if ref else {})}}
    answer = await client.create(
        kinds.SERVICE_ACCOUNTS, request, "default", name="robot", subresource="token"
    )
    text: str = answer["status"]["token"]
    return text


@pytest.fixture
async def robots(door: Door) -> Door:
    for name in ("robot", "other"):
        await door.admin.create(kinds.SERVICE_ACCOUNTS, {"metadata": {"name": name}}, "default")
    return door


async def review(door: Door, text: str) -> Obj:
    status: Obj = (await door.admin.create(REVIEWS, {"spec": {"token": text}}))["status"]
    return status


async def test_a_review_tells_one_token_from_another(robots: Door) -> None:
    found = set()
    for text in (await token(robots.admin, None), await token(robots.admin, None)):
        (which,) = (await review(robots, text))["user"]["extra"]["authentication.kubernetes.io/credential-id"]
        assert which.startswith("JTI=")
        found.add(which)
    assert len(found) == 2


@pytest.mark.parametrize("kind", OWNERS)
async def test_a_token_dies_with_what_it_is_bound_to_even_if_a_namesake_follows(
    robots: Door, kind: str
) -> None:
    what, owner, where = OWNERS[kind]
    await robots.admin.create(what, owner, where)
    text = await token(robots.admin, {"kind": kind, "apiVersion": "v1", "name": "p"})
    tokens = robots.api.tokens
    assert tokens is not None
    user = tokens.user_of(text)
    assert user is not None
    assert (await review(robots, text))["authenticated"]
    await robots.admin.delete(what, "p", where, DeleteOptions(grace_period_seconds=0))
    dead = {"user": {}, "error": "invalid bearer token"}
    assert (tokens.user_of(text), await review(robots, text)) == (None, dead)
    await robots.admin.create(what, owner, where)
    assert (tokens.user_of(text), await review(robots, text)) == (None, dead)


async def test_a_token_of_a_pod_tells_its_pod_and_outlives_its_node(robots: Door) -> None:
    await robots.admin.create(kinds.NODES, {"metadata": {"name": "n"}})
    pod = await robots.admin.create(kinds.PODS, {**POD, "spec": {**POD["spec"], "nodeName": "n"}}, "default")
    text = await token(robots.admin, {"kind": "Pod", "apiVersion": "v1", "name": "p"})
    extra = (await review(robots, text))["user"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
    assert extra["authentication.kubernetes.io/pod-uid"] == [pod["metadata"]["uid"]]
    assert extra["authentication.kubernetes.io/node-name"] == ["n"]
    await robots.admin.delete(kinds.NODES, "n")
    assert (await review(robots, text))["authenticated"]


async def test_a_token_ends_a_minute_after_its_pod_was_due_to_go(robots: Door) -> None:
    held = {**POD, "metadata": {"name": "p", "finalizers": ["a.b/c"]}}
    await robots.admin.create(kinds.PODS, held, "default")
    text = await token(robots.admin, {"kind": "Pod", "apiVersion": "v1", "name": "p"})
    await robots.admin.delete(kinds.PODS, "p", "default")
    robots.clock.seconds += 59
    assert (await review(robots, text))["authenticated"]
    robots.clock.seconds += 10
    assert "authenticated" not in await review(robots, text)


@pytest.mark.parametrize(
    ("ref", "code", "words"),
    [
        ({"kind": "Pod", "name": "none"}, 404, 'pods "none" not found'),
        ({"kind": "Secret", "name": "none"}, 404, 'secrets "none" not found'),
        ({"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}, 400,
         "cannot bind token to object of type /v1, Kind=ConfigMap"),
        ({"kind": "Pod", "name": "p"}, 400,
         'cannot bind token for serviceaccount "robot" to pod running with serviceaccount "other"'),
        ({"kind": "Secret", "name": "s", "uid": "wrong"}, 409, "does not match the UID in record"),
    ],
)  # fmt: skip
async def test_what_a_token_cannot_be_bound_to(robots: Door, ref: Obj, code: int, words: str) -> None:
    other = {**POD, "spec": {**POD["spec"], "serviceAccountName": "other"}}
    await robots.admin.create(kinds.PODS, other, "default")
    await robots.admin.create(kinds.SECRETS, {"metadata": {"name": "s"}}, "default")
    refused = await refusal(token(robots.admin, ref))
    assert refused.code == code
    assert words in refused.message


async def test_reviews_tell_the_audiences_and_want_a_token(robots: Door) -> None:
    text = await token(robots.admin, None)
    assert (await review(robots, text))["audiences"] == ["https://kubernetes.default.svc"]
    refused = await refusal(review(robots, ""))
    assert (refused.code, refused.message) == (400, "token is required for TokenReview in authentication")
