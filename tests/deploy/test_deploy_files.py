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
from longshore.up.manifests import volcano_definitions

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
    assert (DEPLOY / "kustomize" / "longshore.yaml").read_text() == manifests.text(manifests.Wanted())


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
    for definition in volcano_definitions.documents():
        (version,) = definition["spec"]["versions"]
        spec = {"conversion": {"strategy": "None"}, **definition["spec"]}
        made = {**definition, "spec": spec, "status": {"storedVersions": [version["name"]]}}
        assert customresourcedefinition.validate_create(made) == [], definition["metadata"]["name"]
        assert {"apiVersion", "kind", "metadata"} < set(version["schema"]["openAPIV3Schema"]["properties"])


def test_volcanos_definitions_are_small_enough_for_kubectl_apply() -> None:
    sizes = {crd["metadata"]["name"]: len(json.dumps(crd)) for crd in volcano_definitions.documents()}
    assert max(sizes.values()) < 250_000  # client-side apply keeps a copy in an annotation of 256 KiB
    assert "jobs.batch.volcano.sh" in sizes
