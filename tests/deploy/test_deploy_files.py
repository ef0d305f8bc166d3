"""What is in `deploy` says what longshore says: rights, manifests, versions, metrics."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

import pytest
import yaml

from deploy.charted import CHART, DEPLOY
from longshore import __version__
from longshore.api.validation import customresourcedefinition
from longshore.plane.controllers import CONTROLLERS
from longshore.up import manifests

_WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(?![a-zA-Z0-9_:]*\()")
_IN_BRACES = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on)\s*\([^)]*\)|\"[^\"]*\"")


def expressions() -> Iterator[str]:
    alerts = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    for group in alerts["spec"]["groups"]:
        yield from (rule["expr"] for rule in group["rules"])
    dashboard = json.loads((CHART / "files" / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def metrics_in(expression: str) -> set[str]:
    words = set(_WORD.findall(_IN_BRACES.sub(" ", expression)))
    return {re.sub(r"_(bucket|sum|count)$", "", word) for word in words if "_" in word}


@pytest.mark.skipif(not os.environ.get("LONGSHORE_TEST_DEPLOY"), reason="make test-deploy runs this")
def test_every_metric_of_the_alerts_and_the_dashboard_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DEPLOY.parent / "tools")
    from handbook.reference import metrics

    named = set().union(*map(metrics_in, expressions())) - {"histogram_quantile"}
    assert len(named) > 10
    assert named - {metric.name for metric in metrics.found()} == set()


def test_the_chart_has_the_rights_of_the_package() -> None:
    packaged = DEPLOY.parent / "src" / "longshore" / "up" / "manifests" / "rights.yaml"
    assert (CHART / "files" / "rights.yaml").resolve() == packaged  # helm follows links


def test_the_base_of_kustomize_is_what_longshore_manifests_prints() -> None:
    assert (DEPLOY / "kustomize" / "longshore.yaml").read_text() == manifests.text(
        manifests.WantedInstallation()
    )


def test_the_definitions_of_the_chart_are_what_longshore_manifests_prints() -> None:
    printed = "longshore manifests --crds > deploy/chart/files/definitions.yaml"
    assert (CHART / "files" / "definitions.yaml").read_text() == manifests.definitions(), printed


def test_the_chart_has_the_version_of_the_package_and_knows_its_controllers() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    schema = json.loads((CHART / "values.schema.json").read_text())
    known = set(schema["properties"]["controllers"]["items"]["enum"])
    assert known == set(yaml.safe_load((CHART / "files" / "rights.yaml").read_text())) - {
        "cluster-scoped", "scheduler", "webhooks", "webhooks-own"
    }  # fmt: skip
    assert known <= set(CONTROLLERS)
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(values) == set(schema["properties"]) - {"global"}


def test_volcanos_definitions_are_ones_that_a_server_takes() -> None:
    for definition in manifests.definition_documents():
        (version,) = definition["spec"]["versions"]
        spec = {"conversion": {"strategy": "None"}, **definition["spec"]}
        made = {**definition, "spec": spec, "status": {"storedVersions": [version["name"]]}}
        assert customresourcedefinition.validate_create(made) == [], definition["metadata"]["name"]
        assert {"apiVersion", "kind", "metadata"} < set(version["schema"]["openAPIV3Schema"]["properties"])


def test_the_definition_of_hyper_nodes_has_volcanos_rules_for_servers_that_evaluate_them() -> None:
    (hyper_nodes,) = [
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        for crd in manifests.definition_documents()
        if crd["spec"]["names"]["kind"] == "HyperNode"
    ]
    selector = hyper_nodes["spec"]["properties"]["members"]["items"]["properties"]["selector"]
    assert [rule["message"] for rule in selector["x-kubernetes-validations"]] == [
        "Either ExactMatch or RegexMatch or LabelMatch must be specified",
        "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
    ]
    labels = selector["properties"]["labelMatch"]
    assert labels["x-kubernetes-map-type"] == "atomic"
    assert labels["properties"]["matchExpressions"]["x-kubernetes-list-type"] == "atomic"
    condition = hyper_nodes["status"]["properties"]["conditions"]["items"]["properties"]
    assert condition["status"]["enum"] == ["True", "False", "Unknown"]
    assert (condition["reason"]["minLength"], condition["message"]["maxLength"]) == (1, 32768)


def test_volcanos_definitions_are_small_enough_for_kubectl_apply() -> None:
    sizes = {crd["metadata"]["name"]: len(json.dumps(crd)) for crd in manifests.definition_documents()}
    assert max(sizes.values()) < 250_000  # client-side apply keeps a copy in an annotation of 256 KiB
    assert "jobs.batch.volcano.sh" in sizes
