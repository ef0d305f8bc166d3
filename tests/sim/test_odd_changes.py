"""Odd values of --set, and odd manifests: refused with the path, the value and the rule."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.cli.main import main
from sim.worlds import cron_job, gang, job, played

NODE: Obj = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "100"}},
}
CONTAINERS = "job/x.spec.template.spec.containers"


def asked(tmp_path: Path, *changes: str, also: Obj | None = None) -> list[str]:
    weekly = cron_job("gangs", "0 5 * * *", jobTemplate={"spec": gang("g", 1, "1")["spec"]})
    weekly["apiVersion"] = "batch.volcano.sh/v1alpha1"
    objects = [job(), cron_job("c", "0 5 * * *"), weekly, gang("g", 2, "1"), NODE, *([also] if also else [])]
    path = tmp_path / "work.json"
    path.write_text("\n---\n".join(map(json.dumps, objects)))
    return ["sim", str(path), "--for", "1h", *(word for each in changes for word in ("--set", each))]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (f"{CONTAINERS}.5.name=a", "containers is a list of 1, and has no item '5'; the first is 0"),
        (f"{CONTAINERS}.-9.name=a", "has no item '-9'"),
        (f"{CONTAINERS}.main.name=a", "has no item 'main'"),
        (f"{CONTAINERS}.1=a", "has no item '1'"),
        ("job/x.spec.template.spec.restartPolicy.a=1", "restartPolicy is 'Never', and has no field 'a'"),
        ("job/x.spec.template.spec.restartPolicy.a.b=1", "restartPolicy is 'Never', and has no field 'a'"),
        ("vcjob/g.spec.tasks.7.replicas=1", "spec.tasks is a list of 1, and has no item '7'"),
        ("job/x.spec.parallelism=[", "'[' is no value in YAML"),
        ("job/x.spec.parallelism=a: b: c", "'a: b: c' is no value in YAML"),
        ("job/x.spec.parallelism=!!python/object:x", "is no value in YAML"),
        ("job/x.spec.parallelism=\x01", "is no value in YAML"),
        ("job/x.spec.parallelism=2027-99-99", "is no value in YAML"),
        ("job/x.spec..parallelism=1", "write KIND/NAME.PATH=VALUE"),
        ("job/x.spec.=1", "write KIND/NAME.PATH=VALUE"),
        ("job/x.metadata=1", "metadata stays as it is"),
        ("job/x.kind=Foo", "kind stays as it is"),
        ("job/x.apiVersion=3", "apiVersion stays as it is"),
        ("job/x.metadata.namespace=3", "job/x.metadata.namespace: 3 is no text: quote it"),
        ("cronjob/c.spec=3", "cannot unmarshal number"),
        ("cronjob/c.spec.schedule=@every x", "failed to parse duration @every x"),
        ("node/n.status=3", "Node n: status.capacity: say what it has"),
        ("node/n.status.capacity=3", "Node n: status.capacity: say what it has"),
        ("node/n.status.capacity.cpu=lots", "Node n: cpu of status.capacity: 'lots' is no quantity"),
    ],
)
def test_odd_changes(change: str, said: str, tmp_path: Path, capsys: Any) -> None:
    assert main(asked(tmp_path, change)) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["c", "gangs"])
@pytest.mark.parametrize(("schedule", "runs"), [("*/20 * * * *", 3), ("@every 25m", 2)])
def test_schedules_can_be_tried(name: str, schedule: str, runs: int, tmp_path: Path, capsys: Any) -> None:
    assert main([*asked(tmp_path, f"cronjob/{name}.spec.schedule={schedule}"), "-o", "json"]) == 0
    found = {row["name"]: row["runs"] for row in json.loads(capsys.readouterr().out)["cron_jobs"]}
    assert found[f"cronjob/{name}"] == runs


def test_a_field_of_nothing_is_made(tmp_path: Path, capsys: Any) -> None:
    work = {**job("y"), "metadata": {"name": "y", "labels": None}}
    assert main(asked(tmp_path, "job/y.metadata.labels.app=a", also=work)) == 0


def test_an_object_without_a_name_is_not_meant(tmp_path: Path, capsys: Any) -> None:
    work = {**job("y"), "metadata": {"generateName": "y-"}}
    assert main(asked(tmp_path, "job/y.spec.parallelism=2", also=work)) == 2
    assert "--set: there is no job/y among the manifests" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "kind"), [("apps/v1", "Deployment"), ("networking.k8s.io/v1", "Ingress"), ("a/v1", "B")]
)
def test_a_kind_that_longshore_does_not_have_is_skipped_with_a_line(
    version: str, kind: str, tmp_path: Path, capsys: Any
) -> None:
    odd = {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}, "spec": {}}
    assert main(asked(tmp_path, also=odd)) == 0
    told = capsys.readouterr().out
    assert f"! {kind} web ({version}) is skipped: longshore does not play this kind" in told
    assert re.search(r"(?m)^job/x +complete", told)


def test_objects_of_one_kind_are_skipped_with_one_line() -> None:
    web = {"apiVersion": "apps/v1", "kind": "Deployment"}
    found = played(job(), *({**web, "metadata": {"name": f"web-{number}"}} for number in range(5)))
    said = "Deployment web-0, web-1, web-2, … (apps/v1) is skipped: longshore does not play this kind"
    assert [each for each in found.remarks if "Deployment" in each] == [said]


@pytest.mark.parametrize(
    ("change", "unknown"),
    [
        ("job/x.spec.paralelism", "spec.paralelism"),
        ("job/x.spec.template.spec.nodeSelektor", "spec.template.spec.nodeSelektor"),
        ("job/x.metadata.labls", "metadata.labls"),
        ("job/x.specs.parallelism", "specs"),
        ("vcjob/g.spec.minAvailabel", "spec.minAvailabel"),
        ("node/n.spec.unschedulabel", "spec.unschedulabel"),
    ],
)
def test_a_change_of_a_field_that_does_not_exist_is_refused(
    change: str, unknown: str, tmp_path: Path, capsys: Any
) -> None:
    assert main(asked(tmp_path, f"{change}=1,2")) == 2
    assert f'unknown field "{unknown}"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("work", "path"),
    [
        (job(paralelism=3), "spec.paralelism"),
        (cron_job("c", "0 * * * *", concurencyPolicy="Forbid"), "spec.concurencyPolicy"),
        (gang("g", 1, "1", minAvailabl=1), "spec.minAvailabl"),
    ],
)
def test_a_manifest_with_a_field_that_its_kind_does_not_have_is_refused(work: Any, path: str) -> None:
    name = f"{work['kind']} {work['metadata']['name']}"
    with pytest.raises(ValueError, match=f'^{name}: .*strict decoding error: unknown field "{path}"'):
        played(work)
