"""A kopf operator that makes a Job from each custom resource, and says in its status how the Job went."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from longshore.testing import Cluster, Exit

pytestmark = pytest.mark.longshore(clock="real")  # an operator acts in its own time

# ---- the code under test: operator.py

OPERATOR = """
import kopf
from kubernetes import client, config


@kopf.on.startup()
def connect(**_):
    config.load_kube_config()


@kopf.on.create("example.org", "v1", "reports")
def make(name, namespace, spec, **_):
    container = {"name": "main", "image": "example.org/report", "args": [spec["query"]]}
    job = {"metadata": {"name": name},
           "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}
    kopf.adopt(job)
    client.BatchV1Api().create_namespaced_job(namespace, job)


@kopf.on.field("batch", "v1", "jobs", field="status.succeeded")
def done(new, namespace, meta, **_):
    owner = next(iter(meta.get("ownerReferences", [])), None)
    if new and owner and owner["kind"] == "Report":
        client.CustomObjectsApi().patch_namespaced_custom_object(
            "example.org", "v1", namespace, "reports", owner["name"], {"status": {"done": True}})
"""

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: reports.example.org}
spec:
  group: example.org
  names: {kind: Report, plural: reports, singular: report}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""

# ---- its test


@pytest.fixture
def operator(longshore: Cluster) -> Iterator[Path]:
    """The operator as a process of its own, as it runs in life; its log."""
    longshore.apply(DEFINITION)
    with tempfile.TemporaryDirectory() as directory:
        program, log = Path(directory) / "operator.py", Path(directory) / "log"
        program.write_text(OPERATOR)
        words = [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace=default", str(program)]
        environ = os.environ | {"KUBECONFIG": str(longshore.kubeconfig)}
        with log.open("w") as out, subprocess.Popen(words, env=environ, stdout=out, stderr=out) as process:
            yield log
            process.terminate()


def test_a_report_is_done_when_its_job_is(longshore: Cluster, operator: Path) -> None:
    longshore.pods.script("sales", Exit(0, after="100ms"))
    report = {"apiVersion": "example.org/v1", "kind": "Report", "metadata": {"name": "sales"}}
    longshore.apply({**report, "spec": {"query": "select 1"}})
    longshore.wait("report/sales", lambda found: found.get("status", {}).get("done"), timeout="2m")
    (job,) = longshore.list("jobs")
    assert job["metadata"]["ownerReferences"][0]["name"] == "sales"
    assert "Traceback" not in operator.read_text()
