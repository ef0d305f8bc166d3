"""Version, health and the list of paths."""

from __future__ import annotations

import json

import pytest

from longshore.api.kinds import table as kinds
from longshore.apiserver.documents import server_info
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api/discovery.json"
WELL = {"ping": lambda: True, "store": lambda: True}
ILL = {"ping": lambda: True, "store": lambda: False}


def test_the_version_is_the_recorded_one_but_for_the_build() -> None:
    exchange = next(e for e in json.loads(VECTORS.read_text()) if e["name"] == "version")
    got = server_info.version()
    for pointer in exchange["ignore"]:
        assert isinstance(got[pointer[1:]], str)
        got[pointer[1:]] = "<any>"
    assert got == exchange["response"]["body"]


def test_the_build_details_name_this_program() -> None:
    assert server_info.version()["gitCommit"].startswith("longshore-")


@pytest.mark.parametrize(
    "path", ["/healthz", "/livez", "/readyz", "/healthz/", "/healthz/ping", "/readyz/store"]
)
def test_a_healthy_server_says_ok(path: str) -> None:
    assert server_info.health(path, WELL) == (200, "ok")


def test_on_request_every_check_is_listed() -> None:
    assert server_info.health("/readyz", WELL, verbose=True) == (
        200,
        "[+]ping ok\n[+]store ok\nreadyz check passed\n",
    )


def test_a_failing_check_is_named_but_not_explained() -> None:
    assert server_info.health("/livez", ILL) == (
        500,
        "[+]ping ok\n[-]store failed: reason withheld\nlivez check failed\n",
    )
    answer = server_info.health("/livez/store", ILL)
    assert answer is not None
    assert answer[0] == 500


def test_checks_can_be_left_out() -> None:
    assert server_info.health("/livez", ILL, verbose=True, exclude=["store", "moon"]) == (
        200,
        "[+]ping ok\n[+]store excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "moon"\nlivez check passed\n',
    )


@pytest.mark.parametrize("path", ["/healthz/nothing", "/health", "/"])
def test_an_unknown_check_is_not_there(path: str) -> None:
    assert server_info.health(path, WELL) is None


def test_the_root_lists_every_group_and_version() -> None:
    paths = server_info.root_paths(kinds.RESOURCES, WELL)["paths"]
    assert {"/api", "/api/v1", "/apis/batch", "/apis/batch/v1", "/healthz/ping", "/openapi/v3"} <= set(paths)
    assert paths == sorted(paths)
