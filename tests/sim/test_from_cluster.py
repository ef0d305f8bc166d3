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
