"""`Impersonate-*` headers: each thing that is claimed needs a right of its own."""

from __future__ import annotations

import json

import pytest

from longshore.api.types import Obj
from longshore.apiserver.request.call import User
from support.door import Door, person, rule

pytestmark = pytest.mark.anyio

EVE = person("eve")
AUTHENTICATION = "authentication.k8s.io"
REVIEWS = f"/apis/{AUTHENTICATION}/v1/selfsubjectreviews"


async def seen(door: Door, user: User, **claims: str) -> tuple[int, Obj]:
    """What the server says of who asks: code, and the user it takes them for or the refusal."""
    headers = {f"Impersonate-{key.replace('_', '-')}": value for key, value in claims.items()}
    headers["Content-Type"] = "application/json"
    answer = await door.of(user).request("POST", REVIEWS, body=b"{}", headers=headers)
    body = json.loads(answer.body)
    return answer.code, body["status"]["userInfo"] if answer.code == 201 else body


RIGHTS = [
    # held, claimed, which right is missing
    ([], {"User": "ann"}, ("users", "ann", "")),
    ([rule("impersonate", "users", names="bob")], {"User": "ann"}, ("users", "ann", "")),
    ([rule("impersonate", "users")], {"User": "ann"}, None),
    ([rule("impersonate", "users", names="ann")], {"User": "ann"}, None),
    ([rule("impersonate", "users")], {"User": "ann", "Group": "devs"}, ("groups", "devs", "")),
    ([rule("impersonate", "users"), rule("impersonate", "groups", names="devs")],
     {"User": "ann", "Group": "devs"}, None),
    ([rule("impersonate", "users"), rule("impersonate", "groups", names="devs")],
     {"User": "ann", "Group": "system:masters"}, ("groups", "system:masters", "")),
    ([rule("impersonate", "users groups")], {"User": "ann", "Uid": "1"}, ("uids", "1", AUTHENTICATION)),
    ([rule("impersonate", "users uids")], {"User": "ann", "Uid": "1"}, ("uids", "1", AUTHENTICATION)),
    ([rule("impersonate", "users"), rule("impersonate", "uids", AUTHENTICATION)],
     {"User": "ann", "Uid": "1"}, None),
    ([rule("impersonate", "users")], {"User": "ann", "Extra-scopes": "all"},
     ("userextras/scopes", "all", AUTHENTICATION)),
    ([rule("impersonate", "users"), rule("impersonate", "userextras/scopes", AUTHENTICATION, names="view")],
     {"User": "ann", "Extra-scopes": "all"}, ("userextras/scopes", "all", AUTHENTICATION)),
    ([rule("impersonate", "users"), rule("impersonate", "userextras/scopes", AUTHENTICATION)],
     {"User": "ann", "Extra-scopes": "all"}, None),
    ([rule("impersonate", "users"), rule("impersonate", "userextras/other", AUTHENTICATION)],
     {"User": "ann", "Extra-scopes": "all"}, ("userextras/scopes", "all", AUTHENTICATION)),
    # a name that stands for an account needs the right on accounts, and no other
    ([rule("impersonate", "users")], {"User": "system:serviceaccount:default:robot"},
     ("serviceaccounts", "robot", "default")),
    ([rule("impersonate", "serviceaccounts")], {"User": "system:serviceaccount:default:robot"}, None),
    ([rule("impersonate", "serviceaccounts")], {"User": "system:serviceaccount:No:robot"},
     ("users", "system:serviceaccount:No:robot", "")),
]  # fmt: skip


@pytest.mark.parametrize(("held", "claims", "missing"), RIGHTS)
async def test_each_claim_needs_its_right(
    door: Door, held: list[Obj], claims: dict[str, str], missing: tuple[str, str, str] | None
) -> None:
    await door.give(EVE, held)
    code, found = await seen(door, EVE, **claims)
    if missing is None:
        assert (code, found["username"]) == (201, claims["User"])
        return
    resource, name, where = missing
    group, place = (
        (where, "at the cluster scope") if "." in where or not where else ("", f'in the namespace "{where}"')
    )
    plural = resource.partition("/")[0]
    assert code == 403
    assert found["message"] == (
        f'{plural}{group and "." + group} "{name}" is forbidden: User "eve" cannot impersonate resource '
        f'"{resource}" in API group "{group}" {place}'
    )


async def test_a_right_in_one_namespace_is_for_the_accounts_of_that_one(door: Door) -> None:
    await door.bind(EVE, "edit", "default")
    for namespace, code in (("default", 201), ("kube-system", 403)):
        assert (await seen(door, EVE, User=f"system:serviceaccount:{namespace}:default"))[0] == code


@pytest.mark.parametrize(
    ("claims", "groups"),
    [
        ({"User": "ann"}, ["system:authenticated"]),
        ({"User": "ann", "Group": "devs"}, ["devs", "system:authenticated"]),
        ({"User": "ann", "Group": "system:unauthenticated"}, ["system:unauthenticated"]),
        ({"User": "system:anonymous"}, ["system:unauthenticated"]),
        (
            {"User": "system:serviceaccount:default:robot"},
            ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
        ),
        ({"User": "system:serviceaccount:default:robot", "Group": "devs"}, ["devs", "system:authenticated"]),
    ],
)
async def test_whom_the_server_sees(door: Door, claims: dict[str, str], groups: list[str]) -> None:
    # Nobody but masters may ask about themselves without being known.
    await door.give(person("system:anonymous"), [rule("create", "selfsubjectreviews", AUTHENTICATION)])
    await door.admin.patch(
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        "system:basic-user",
        {
            "subjects": [
                {"kind": "Group", "name": each} for each in ("system:authenticated", "system:unauthenticated")
            ]
        },
    )
    code, found = await seen(door, person("root", "system:masters"), **claims)
    assert (code, found) == (201, {"username": claims["User"], "groups": groups})


async def test_uid_and_extra_are_those_claimed(door: Door) -> None:
    claims = {"User": "ann", "Uid": "7", "Extra-Acme.com%2FProject": "x"}
    _, found = await seen(door, person("root", "system:masters"), **claims)
    assert (found["uid"], found["extra"]) == ("7", {"acme.com/project": ["x"]})


@pytest.mark.parametrize(
    ("claims", "asked"),
    [
        ({"Group": "system:masters"}, "{Group  system:masters    }"),
        ({"Uid": "7"}, "{UID  7  authentication.k8s.io/v1  }"),
        ({"Extra-scopes": "all"}, "{UserExtra  all  authentication.k8s.io/v1  scopes}"),
        ({"User": "", "Group": "devs"}, "{Group  devs    }"),
    ],
)
async def test_claims_without_a_user_are_refused(door: Door, claims: dict[str, str], asked: str) -> None:
    code, found = await seen(door, person("root", "system:masters"), **claims)
    assert (code, found["message"]) == (400, f"requested [{asked}] without impersonating a user")


async def test_who_acts_as_another_has_their_rights_and_not_its_own(door: Door) -> None:
    headers = {"Impersonate-User": "ann"}
    answer = await door.of(person("root", "system:masters")).request(
        "GET", "/api/v1/namespaces", headers=headers
    )
    assert answer.code == 403
