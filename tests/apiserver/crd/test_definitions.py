"""A definition: what it is refused for, the names it gets, and when its kind is served."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.crd.widgets import DEFINITIONS, SPEC, WIDGETS, define, definition, schema, version, widget
from support.api_in_memory import Server

pytestmark = pytest.mark.anyio


def condition(crd: dict[str, Any], kind: str) -> tuple[str, str, str]:
    found = next(c for c in crd["status"]["conditions"] if c["type"] == kind)
    return found["status"], found["reason"], found["message"]


async def test_a_definition_gets_defaults_names_and_conditions_at_once(server: Server) -> None:
    crd = (await define(server, definition())).body
    assert crd["spec"]["names"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
    }
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert crd["metadata"]["generation"] == 1
    assert crd["status"]["acceptedNames"] == crd["spec"]["names"]
    assert crd["status"]["storedVersions"] == ["v1"]
    assert condition(crd, "NamesAccepted") == ("True", "NoConflicts", "no conflicts found")
    assert condition(crd, "Established") == (
        "True",
        "InitialNamesAccepted",
        "the initial names have been accepted",
    )


async def test_the_answer_to_a_create_has_no_conditions_and_a_change_with_them_follows(
    server: Server,
) -> None:
    made = (await server.send("POST", DEFINITIONS, definition())).body
    assert made["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }
    now = (await server.send("GET", f"{DEFINITIONS}/widgets.example.com")).body
    assert int(now["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert condition(now, "Established")[0] == "True"


async def test_its_kind_is_served_when_the_create_has_answered(server: Server) -> None:
    before = await server.send("GET", WIDGETS)
    assert (before.code, before.body) == (404, b"404 page not found\n")
    await define(server, definition())
    assert (await server.send("POST", WIDGETS, widget())).code == 201
    assert (await server.send("GET", WIDGETS)).body["kind"] == "WidgetList"


async def test_discovery_lists_it_in_both_forms(server: Server) -> None:
    own = version(subresources={"status": {}})
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]}
    await define(server, definition(own, names=names))
    old = (await server.send("GET", "/apis/example.com/v1")).body["resources"]
    assert [r["name"] for r in old] == ["widgets", "widgets/status"]
    assert (old[0]["shortNames"], old[0]["categories"], old[0]["singularName"]) == (["wd"], ["all"], "widget")
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    groups = (await server.send("GET", "/apis", accept=accept)).body["items"]
    assert groups[-1]["metadata"]["name"] == "example.com"
    assert groups[-1]["versions"][0]["resources"][0]["subresources"][0]["subresource"] == "status"


async def test_openapi_shows_its_schema(server: Server) -> None:
    index = (await server.send("GET", "/openapi/v3")).body
    assert b"example.com" not in index
    await define(server, definition())
    document = (await server.send("GET", "/openapi/v3/apis/example.com/v1")).body
    shown = document["components"]["schemas"]["com.example.v1.Widget"]
    assert shown["properties"]["spec"]["required"] == ["size"]
    assert shown["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "kind": "Widget", "version": "v1"}
    ]
    old = (await server.send("GET", "/openapi/v2", accept="application/json")).body
    assert "com.example.v1.Widget" in old["definitions"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"group": "example"},
            'spec.group: Invalid value: "example": should be a domain with at least one dot',
        ),
        ({"scope": ""}, "spec.scope: Required value"),
        (
            {"scope": "World"},
            'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
        ),
        (
            {"names": {"plural": "widgets", "kind": "Widget", "listKind": "Widget"}},
            'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
        ),
        ({"preserveUnknownFields": True}, "spec.preserveUnknownFields: Invalid value: true: must be false"),
        (
            {"versions": [{"name": "v1", "served": True, "storage": True}]},
            "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
        ),
        (
            {"versions": [version(storage=False)]},
            "must have exactly one version marked as storage version",
        ),
        (
            {"versions": [version(), version("v2")]},
            "must have exactly one version marked as storage version",
        ),
        (
            {"versions": [version("V1")]},
            'spec.versions[0].name: Invalid value: "V1": a DNS-1035 label must consist of',
        ),
        (
            {
                "versions": [
                    version(additionalPrinterColumns=[{"name": "A", "type": "text", "jsonPath": ".a"}])
                ]
            },
            'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of '
            "boolean,date,integer,number,string",
        ),
        (
            {
                "versions": [
                    version(subresources={"scale": {"specReplicasPath": ".x", "statusReplicasPath": ""}})
                ]
            },
            'spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under '
            ".spec, spec.subresources.scale.statusReplicasPath: Required value",
        ),
        (
            {"conversion": {"strategy": "Webhook"}},
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        ),
    ],
)
async def test_a_definition_is_refused_in_kubernetes_words(
    server: Server, change: dict[str, Any], message: str
) -> None:
    answer = await server.send("POST", DEFINITIONS, definition(**change))
    assert answer.code == 422
    assert message in answer.message


async def test_its_name_is_plural_and_group(server: Server) -> None:
    crd = definition()
    crd["metadata"]["name"] = "widgets.other.com"
    answer = await server.send("POST", DEFINITIONS, crd)
    assert answer.message == (
        'CustomResourceDefinition.apiextensions.k8s.io "widgets.other.com" is invalid: metadata.name: '
        'Invalid value: "widgets.other.com": must be spec.names.plural+"."+spec.group'
    )


async def test_kubernetes_own_groups_need_an_approval(server: Server) -> None:
    crd = definition(group="x.k8s.io")
    answer = await server.send("POST", DEFINITIONS, crd)
    assert (
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups" in answer.message
    )
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    assert (await server.send("POST", DEFINITIONS, crd)).code == 201


async def test_schemas_that_all_versions_share_are_named_as_kubernetes_does(server: Server) -> None:
    wrong = {"type": "object", "properties": {"a": {}}}
    text = (
        ".properties[spec].properties[a].type: Required value: must not be empty for specified object fields"
    )
    one = await server.send("POST", DEFINITIONS, definition(version(spec=wrong)))
    assert f"spec.validation.openAPIV3Schema{text}" in one.message
    two = definition(version(spec=wrong), version("v2", storage=False))
    assert (
        f"spec.versions[0].schema.openAPIV3Schema{text}"
        in (await server.send("POST", DEFINITIONS, two)).message
    )


async def test_a_name_that_another_definition_has_is_not_accepted_until_it_is_free(server: Server) -> None:
    names = {"plural": "gadgets", "kind": "Gadget", "shortNames": ["wd"]}
    await define(server, definition(names={"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}))
    second = (await define(server, definition(kind="Gadget", names=names))).body
    assert condition(second, "NamesAccepted") == ("False", "ShortNamesConflict", '"wd" is already in use')
    assert condition(second, "Established") == ("False", "NotAccepted", "not all names are accepted")
    gadgets = "/apis/example.com/v1/namespaces/default/gadgets"
    assert (await server.send("GET", gadgets)).code == 404
    await server.send("DELETE", f"{DEFINITIONS}/widgets.example.com")
    freed = (await server.send("GET", f"{DEFINITIONS}/gadgets.example.com")).body
    assert condition(freed, "NamesAccepted")[0] == "True"
    assert (await server.send("GET", gadgets)).code == 200


async def test_a_name_that_longshore_serves_itself_is_not_accepted(server: Server) -> None:
    crd = definition(kind="Job", group="batch.volcano.sh")
    made = (await define(server, crd)).body
    assert condition(made, "NamesAccepted")[0] == "False"
    assert made["status"]["acceptedNames"]["plural"] == ""


async def test_scope_kind_and_group_of_an_established_definition_are_fixed(server: Server) -> None:
    crd = (await define(server, definition())).body
    crd["spec"]["scope"] = "Cluster"
    crd["spec"]["names"]["kind"] = "Gizmo"
    answer = await server.send("PUT", f"{DEFINITIONS}/widgets.example.com", crd)
    assert 'spec.scope: Invalid value: "Cluster": field is immutable' in answer.message
    assert 'spec.names.kind: Invalid value: "Gizmo": field is immutable' in answer.message


async def test_new_short_names_are_accepted_with_the_update(server: Server) -> None:
    await define(server, definition())
    patch = {"spec": {"names": {"shortNames": ["wg"]}}}
    path = f"{DEFINITIONS}/widgets.example.com"
    await server.send("PATCH", path, patch, type="application/merge-patch+json")
    crd = (await server.send("GET", path)).body
    assert crd["status"]["acceptedNames"]["shortNames"] == ["wg"]
    assert (await server.send("GET", "/apis/example.com/v1")).body["resources"][0]["shortNames"] == ["wg"]


async def test_a_version_once_stored_cannot_be_dropped(server: Server) -> None:
    both = [version(), version("v2", storage=False)]
    crd = (await define(server, definition(*both))).body
    crd["spec"]["versions"] = [version(storage=False), version("v2")]
    crd = (await server.send("PUT", f"{DEFINITIONS}/widgets.example.com", crd)).body
    assert crd["status"]["storedVersions"] == ["v1", "v2"]
    crd["spec"]["versions"] = [version("v2")]
    answer = await server.send("PUT", f"{DEFINITIONS}/widgets.example.com", crd)
    assert (
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was' in answer.message
    )


async def test_what_longshore_does_not_do_is_said(server: Server) -> None:
    ruled = SPEC | {"x-kubernetes-validations": [{"rule": "self.size != ''"}]}
    answer = await server.send("POST", DEFINITIONS, definition(version(spec=ruled)))
    assert answer.warning == (
        '299 - "spec.versions[0].schema: rules in x-kubernetes-validations are kept but not evaluated by '
        'longshore"'
    )
    assert answer.body["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema(ruled)


async def test_a_dry_run_serves_nothing(server: Server) -> None:
    answer = await server.send("POST", DEFINITIONS, definition(), dryRun="All")
    assert answer.code == 201
    assert (await server.send("GET", WIDGETS)).code == 404
