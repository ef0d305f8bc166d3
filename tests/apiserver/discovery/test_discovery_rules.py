"""Rules of discovery that hold for any table of resources."""

from __future__ import annotations

import json

import msgspec
import pytest

from longshore.api.kinds import table as kinds
from longshore.api.resources import STATUS_VERBS, Resource, Subresource
from longshore.api.strategy import Strategy
from longshore.apiserver.documents import discovery
from longshore.apiserver.documents.discovery import Discovery

HERE = "127.0.0.1:6443"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
WIDGETS = Resource(
    "acme.io",
    "v1",
    "Widget",
    "widgets",
    "widget",
    True,
    Strategy(),
    short_names=("wd",),
    subresources={"status": Subresource("status", STATUS_VERBS, "Widget")},
    style="custom",
)


def test_kubernetes_jobs_come_before_volcanos() -> None:
    names = discovery.groups(kinds.RESOURCES)
    assert names.index("batch") < names.index("batch.volcano.sh")


def test_both_forms_tell_of_the_same_resources() -> None:
    def legacy() -> set[tuple[str, str]]:
        found = set()
        for group in discovery.groups(kinds.RESOURCES):
            for version in discovery.versions(kinds.RESOURCES, group):
                listed = discovery.resource_list(kinds.RESOURCES, group, version)
                assert listed is not None
                found |= {(listed["groupVersion"], r["name"]) for r in listed["resources"]}
        return found

    together = set()
    for core in (True, False):
        for item in discovery.aggregated(kinds.RESOURCES, core=core)["items"]:
            name = item["metadata"].get("name", "")
            for version in item["versions"]:
                at = f"{name}/{version['version']}" if name else version["version"]
                for r in version["resources"]:
                    together.add((at, r["resource"]))
                    together |= {
                        (at, f"{r['resource']}/{s['subresource']}") for s in r.get("subresources", [])
                    }
    assert together == legacy()


def test_a_users_kind_appears_as_soon_as_its_row_does() -> None:
    rows: list[tuple[Resource, ...]] = [kinds.RESOURCES]
    documents = Discovery(lambda: rows[0])
    assert documents.find("/apis/acme.io/v1", None, HERE) is None
    before = documents.find("/apis", AGGREGATED, HERE)
    rows[0] = (*kinds.RESOURCES, WIDGETS)
    after = documents.find("/apis", AGGREGATED, HERE)
    assert before is not None
    assert after is not None
    assert before[0].etag != after[0].etag
    found = documents.find("/apis/acme.io/v1", None, HERE)
    assert found is not None
    widget, status = json.loads(found[0].body)["resources"]
    assert widget["verbs"] == [
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ]
    assert (widget["shortNames"], status["name"]) == (["wd"], "widgets/status")


def test_a_document_is_built_once() -> None:
    documents = Discovery(lambda: kinds.RESOURCES)
    first, second = documents.find("/apis", None, HERE), documents.find("/apis/", None, HERE)
    assert first is not None
    assert second is not None
    assert first[0] is second[0]


def test_a_client_that_has_the_document_need_not_get_it_again() -> None:
    found = Discovery(lambda: kinds.RESOURCES).find("/apis", AGGREGATED, HERE)
    assert found is not None
    document = found[0]
    assert document.unchanged(document.etag)
    assert document.unchanged(f'"old", W/{document.etag}')
    assert not document.unchanged('"old"')
    assert not document.unchanged(None)
    assert document.headers["Vary"] == "Accept"


@pytest.mark.parametrize(
    "path", ["/apis/nothing", "/apis/batch/v9", "/api/v9", "/api/v1/pods", "/apis/a/b/c", "/x", "/"]
)
def test_other_paths_have_no_document(path: str) -> None:
    assert Discovery(lambda: kinds.RESOURCES).find(path, None, HERE) is None


def test_versions_of_users_kinds_are_ranked() -> None:
    unranked = ("v1alpha1", "foo10", "v1", "v1beta2", "v2", "foo1", "v11alpha2", "v1beta10")
    rows = [msgspec.structs.replace(WIDGETS, version=v) for v in unranked]
    assert discovery.versions(rows, "acme.io") == [
        "v2",
        "v1",
        "v1beta10",
        "v1beta2",
        "v11alpha2",
        "v1alpha1",
        "foo1",
        "foo10",
    ]


def test_the_server_names_the_address_it_was_reached_at() -> None:
    found = Discovery(lambda: kinds.RESOURCES).find("/api", None, "localhost:1234")
    assert found is not None
    assert found[0].obj["serverAddressByClientCIDRs"][0]["serverAddress"] == "localhost:1234"
