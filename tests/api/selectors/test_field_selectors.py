"""Field selectors: which fields each kind offers, the refusals, and what matches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.kinds import event, table
from longshore.api.resources import Resource
from longshore.api.selectors import fields
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api"


def row(group: str, plural: str) -> Resource:
    return next(r for r in table.RESOURCES if (r.group, r.plural) == (group, plural))


def refusal(text: str, resource: Resource) -> str | None:
    try:
        fields.parse(text, resource)
    except StatusError as error:
        return error.message
    return None


def test_every_recorded_selector_is_taken_or_refused_in_kubernetes_words() -> None:
    seen = 0
    for theme in ("list", "deletecollection", "watch"):
        for exchange in json.loads((VECTORS / f"{theme}.json").read_text()):
            query, response = exchange["request"].get("query") or {}, exchange["response"]
            text = query.get("fieldSelector")
            if text is None:
                continue
            path = exchange["request"]["path"].split("/")
            group = "" if path[1] == "api" else path[2]
            message = response["body"]["message"] if response["status"] == 400 else None
            assert refusal(text, row(group, path[-1])) == message, exchange["name"]
            seen += 1
    assert seen > 35


@pytest.mark.parametrize(
    ("group", "plural", "text", "message"),
    [
        ("", "nodes", "metadata.namespace=x", "field label not supported: metadata.namespace"),
        ("", "secrets", "data=x", "field label not supported: data"),
        (
            "events.k8s.io",
            "events",
            "involvedObject.kind=Job",
            "field label not supported: involvedObject.kind",
        ),
        (
            "",
            "configmaps",
            "data=x",
            '"data" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("batch.volcano.sh", "jobs", "status.state=x", "field label not supported: status.state"),
        (
            "scheduling.volcano.sh",
            "queues",
            "metadata.namespace=x",
            "field label not supported: metadata.namespace",
        ),
        ("", "pods", "zz=1,aa=2", "field label not supported: aa"),
        ("", "pods", "spec.nodeName=a=b", "invalid field selector: unescaped character in value: 61"),
        ("", "pods", r"spec.nodeName=a\b", r"invalid field selector: invalid escape sequence: \b"),
        ("", "pods", "spec.nodeName=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("", "pods", r"spec.nodeName\=a", "field label not supported: spec.nodeName\\"),
    ],
)
def test_what_a_kind_does_not_offer_is_refused(group: str, plural: str, text: str, message: str) -> None:
    assert refusal(text, row(group, plural)) == message


POD = {
    "spec": {"nodeName": "n1", "restartPolicy": "Never", "serviceAccountName": "sa"},
    "status": {"phase": "Running", "podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}]},
}
EVENT = {
    "involvedObject": {"kind": "Job", "name": "j", "uid": "u"},
    "reason": "R",
    "type": "Normal",
    "reportingComponent": "rc",
    "source": {},
}


@pytest.mark.parametrize(
    ("group", "plural", "obj", "text", "matches"),
    [
        ("", "pods", POD, "spec.nodeName=n1", True),
        ("", "pods", POD, "spec.host=n1", True),
        ("", "pods", POD, "spec.nodeName!=n1", False),
        ("", "pods", POD, "spec.nodeName=n1,status.phase=Running,spec.restartPolicy==Never", True),
        ("", "pods", POD, "spec.hostNetwork=false", True),
        ("", "pods", POD, "status.podIP=10.0.0.9", True),
        ("", "pods", POD, "status.podIPs=10.0.0.9", False),
        ("", "pods", POD, "status.nominatedNodeName=", True),
        ("", "pods", {}, "spec.nodeName=", True),
        ("", "pods", {"spec": {"hostNetwork": True}}, "spec.hostNetwork=true", True),
        ("", "nodes", {}, "spec.unschedulable=false", True),
        ("", "nodes", {"spec": {"unschedulable": True}}, "spec.unschedulable=true", True),
        ("", "namespaces", {"status": {"phase": "Active"}}, "status.phase=Active", True),
        ("", "secrets", {"type": "Opaque"}, "type=Opaque", True),
        ("", "services", {"spec": {"clusterIP": "None"}}, "spec.clusterIP=None", True),
        ("", "events", EVENT, "involvedObject.kind=Job,reason=R,type=Normal", True),
        ("", "events", EVENT, "source=rc", True),
        ("events.k8s.io", "events", event.to_new(EVENT), "regarding.uid=u,reportingController=rc", True),
        ("batch", "jobs", {}, "status.successful=0", True),
        ("batch", "jobs", {"status": {"succeeded": 3}}, "status.successful=3", True),
        ("", "configmaps", {}, "metadata.name=the-name,metadata.namespace=the-space", True),
        ("", "configmaps", {}, "metadata.name=other", False),
        ("", "configmaps", {}, ",,", True),
        ("", "configmaps", {}, "=", True),
    ],
)
def test_a_selector_matches_objects_as_they_are_served(
    group: str, plural: str, obj: dict[str, Any], text: str, matches: bool
) -> None:
    assert fields.parse(text, row(group, plural)).matches(obj, "the-space", "the-name") is matches


def test_an_escaped_comma_is_part_of_the_value() -> None:
    selector = fields.parse(r"spec.nodeName=a\,b\=c\\", row("", "pods"))
    assert selector.matches({"spec": {"nodeName": "a,b=c\\"}}, "", "")


def test_a_selector_tells_which_name_and_namespace_it_pins() -> None:
    pods = row("", "pods")
    selector = fields.parse("metadata.name=a,metadata.namespace=b,status.phase=Running", pods)
    assert (selector.name, selector.namespace) == ("a", "b")
    selector = fields.parse("metadata.name!=a", pods)
    assert (selector.name, selector.namespace) == (None, None)


def test_a_definition_opens_fields_of_its_own() -> None:
    queues = row("scheduling.volcano.sh", "queues")
    selector = fields.parse("spec.a.b=1", queues, selectable=("spec.a.b",))
    assert selector.matches({"spec": {"a": {"b": 1}}}, "", "q")
    assert not selector.matches({"spec": {}}, "", "q")
