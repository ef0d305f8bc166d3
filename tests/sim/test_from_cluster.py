"""`longshore sim --from-cluster`: what a server has left to do, played from the beginning."""

from __future__ import annotations

import json

import pytest

from longshore.cli.main import main
from longshore.testing import Cluster, Run
from sim.worlds import cron_job, gang, job


def test_what_has_not_ended_is_played_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with Cluster() as c, c.environ():
        for name in ("train", "waiting"):
            c.pods.script(name, Run(None))
        c.apply(job("over"))
        c.wait("job/over", "Complete", "1m")
        for obj in (job("waiting"), cron_job("hourly", "0 * * * *"), gang("train", 2, "1")):
            c.apply(obj)
        c.requests.clear()
        assert main(["sim", "--from-cluster", "--for", "2h", "--zone", "UTC", "-o", "json"]) == 0
        assert {request.method for request in c.requests} == {"GET"}
    found = json.loads(capsys.readouterr().out)
    names = [row["name"] for row in found["jobs"] if not row["owner"]]
    assert sorted(names) == ["job/waiting", "vcjob/train"]
    assert [(row["name"], row["runs"]) for row in found["cron_jobs"]] == [("cronjob/hourly", 2)]
    assert [row["name"] for row in found["nodes"]] == ["node"]


def test_a_server_that_refuses_to_be_read_is_no_empty_one(capsys: pytest.CaptureFixture[str]) -> None:
    with Cluster() as c, c.environ():
        c.apply(job("waiting", suspend=True))
        c.faults.unavailable("1h", on="GET resourcequotas", who="clients")
        assert main(["sim", "--from-cluster", "--zone", "UTC"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "cannot read resourcequotas: Error from server (ServiceUnavailable)" in said.err


def test_objects_of_every_name_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "default"}}
    with Cluster() as c, c.environ():
        c.apply({**quota, "spec": {"hard": {"pods": "1"}}})
        c.pods.script("root", Run(None))
        c.apply(job("root", parallelism=2, completions=2))
        assert main(["sim", "--from-cluster", "--zone", "UTC", "-o", "json"]) == 0
    row = json.loads(capsys.readouterr().out)["jobs"][0]
    assert (row["name"], row["result"]) == ("job/root", "complete")
    assert row["ended"] > 100  # a minute each: the quota lets its two pods run only one after the other


def test_a_taint_keeps_pods_away_as_on_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    ours = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    passing = {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}
    tolerant = job("tolerant", suspend=True)
    tolerant["spec"]["template"]["spec"]["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    with Cluster() as c, c.environ():
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}}
        c.apply({**node, "spec": {"taints": [ours, passing]}})
        c.apply(tolerant)
        c.apply(job("other", suspend=True))
        tried = [
            word for name in ("tolerant", "other") for word in ("--set", f"job/{name}.spec.suspend=false")
        ]
        assert main(["sim", "--from-cluster", "--zone", "UTC", "--for", "1h", "-o", "json", *tried]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["jobs"]}
    assert rows["job/tolerant"]["result"] == "complete"
    assert rows["job/other"]["result"] == "waiting"
    assert "node node has the taint gpu=yes:NoSchedule" in rows["job/other"]["waits_for"]


def test_cron_jobs_of_volcano_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    work = cron_job("gangs", "0 * * * *", jobTemplate={"spec": gang("g", 2, "1")["spec"]})
    with Cluster() as c, c.environ():
        c.apply({**work, "apiVersion": "batch.volcano.sh/v1alpha1"})
        assert main(["sim", "--from-cluster", "--for", "2h", "--zone", "UTC", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["cron_jobs"]
    assert [(row["name"], row["complete"]) for row in found] == [("cronjob/gangs", 2)]


def test_claims_are_taken_and_get_volumes_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    spec = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "of-a-cloud",
        "volumeName": "pvc-1",
        "selector": {"matchLabels": {"a": "b"}},
    }
    work = job("reads", suspend=True)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    work["spec"]["template"]["spec"]["volumes"] = [volume]
    with Cluster() as c, c.environ():
        c.apply({**claim, "spec": spec})
        c.apply(work)
        tried = ("--set", "job/reads.spec.suspend=false")
        assert main(["sim", "--from-cluster", "--zone", "UTC", "--for", "1h", "-o", "json", *tried]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["result"] == "complete"


def test_fields_of_a_newer_server_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    with Cluster() as c, c.environ():
        stored = c.apply(job("waiting", suspend=True))
        stored["spec"] |= {"suspend": False, "fromTheFuture": True}
        node = c.get("node/node")
        node["spec"]["fromTheFuture"] = True
        c.answers.on("GET /apis/batch/v1/jobs", {"kind": "JobList", "items": [stored]})
        c.answers.on("GET /api/v1/nodes", {"kind": "NodeList", "items": [node]})
        assert main(["sim", "--from-cluster", "--zone", "UTC", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["result"] == "complete"
