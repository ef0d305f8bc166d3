"""`longshore job`, `queue`, `jobflow`, `jobtemplate` and `pod`: vcctl's flags, words and columns."""

from __future__ import annotations

import importlib
import json
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longshore.cli import main
from longshore.cli.volcano import flows
from support.longshore_process import RunningLongshore

Vc = Callable[..., tuple[int, str]]
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"

JOB = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: filed, labels: {volcano.sh/job-type: MPI}}
spec:
  queue: default
  schedulerName: other
  tasks:
  - {name: w, replicas: 3, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
"""
TEMPLATE = JOB.replace("batch.volcano", "flow.volcano").replace("kind: Job", "kind: JobTemplate")
FLOW = """\
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {name: f}
spec: {flows: [{name: filed}]}
---
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {name: g}
spec: {flows: [{name: nothing}]}
"""


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def test_a_job_is_run_listed_suspended_resumed_and_deleted(vc: Vc, running: RunningLongshore) -> None:
    def phase() -> Any:
        return (running.request("GET", f"{JOBS}/train")[1].get("status") or {}).get("state", {}).get("phase")

    until(lambda: vc("job", "run", "-N", "train", "-r", "2", "-m", "1", "-R", "cpu=1") ==
          (0, "run job train successfully\n"))  # fmt: skip
    until(lambda: phase() == "Pending")
    spec = running.request("GET", f"{JOBS}/train")[1]["spec"]
    container = spec["tasks"][0]["template"]["spec"]["containers"][0]
    assert (container["image"], container["resources"]["requests"]) == ("busybox", {"cpu": "1"})
    code, text = vc("job", "list")
    head, row = text.splitlines()
    assert code == 0
    assert head.startswith(
        "Name    Creation       Phase       JobType     Replicas    Min   Pending   Running"
    )
    assert row.split()[0] == "train"
    assert row.split()[2:6] == ["Pending", "Batch", "2", "1"]
    assert vc("job", "suspend", "-N", "train") == (0, "")
    until(lambda: phase() == "Aborted")
    assert vc("job", "resume", "-N", "train") == (0, "")
    until(lambda: phase() != "Aborted")
    assert vc("job", "delete", "-N", "train") == (0, "delete job train successfully\n")


def test_a_job_of_a_file_is_found_by_queue_scheduler_and_name(vc: Vc, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB)
    assert vc("job", "run", "-f", str(file)) == (0, "run job filed successfully\n")
    for words in (("-q", "default"), ("-S", "other"), ("--selector", "ile"), ("--all-namespaces",)):
        assert "filed" in vc("job", "list", *words)[1]
    for words in (("-q", "gpu"), ("-S", "volcano"), ("--selector", "nope")):
        assert vc("job", "list", *words) == (0, "No resources found\n")
    assert "MPI" in vc("job", "list")[1]
    assert vc("job", "list", "--all-namespaces")[1].startswith("Namespace   Name")
    vc("job", "delete", "-N", "filed")
    assert vc("job", "list") == (0, "No resources found\n")


def test_a_job_is_viewed_in_full(vc: Vc, running: RunningLongshore) -> None:
    vc("job", "run", "-N", "seen")
    until(lambda: "Phase:\tPending" in vc("job", "view", "-N", "seen")[1])
    text = vc("job", "view", "-N", "seen")[1]
    for line in (
        "Name:       \tseen\n",
        "Labels:     \t<none>\n",
        "API Version:\tbatch.volcano.sh/v1alpha1\n",
        "    Name:\tdefault0\n    Replicas:\t1\n",
        "          Image:\tbusybox\n",
        "              Memory:\t100Mi\n",
        "        Restart Policy:   \tNever\n",
        "Status:\n  Min Available:\t1\n  State:\n    Phase:\tPending\n",
        "  Conditions:\n    Status\tTransitionTime\n    Pending \t20",
    ):
        assert line in text
    assert "Self Link" not in text
    event = {
        "metadata": {"name": "seen.1", "namespace": "default"},
        "involvedObject": {"namespace": "default", "name": "seen"},
        "type": "Warning", "reason": "Odd", "message": "it is odd ", "count": 3,
        "source": {"component": "me"},
    }  # fmt: skip
    assert running.request("POST", "/api/v1/namespaces/default/events", event)[0] == 201
    text = vc("job", "view", "-N", "seen")[1]
    head = f"Events:\n{'Type':<15}\t{'Reason':<40}\t{'Age':<30}\t{'Form':<40}\tMessage\n"
    assert head in text
    row = f"{'Warning':<15}\t{'Odd':<40}\t{'<unknown> (x3 over <unknown>)':<30}\t{'me':<40}\tit is odd\n"
    assert row in text
    vc("job", "delete", "-N", "seen")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("job run", "run job: job name cannot be left blank"),
        ("job run -f job.json", "run job: only support yaml file"),
        ("job run -N x -R cpu", "run job: invalid argument syntax cpu, expected <resource>=<value>"),
        ("job view", "view job: job name (specified by --name or -N) is mandatory to view a particular job"),
        ("job view -N no", 'view job: jobs.batch.volcano.sh "no" not found'),
        ("job suspend", "suspend job: job name is mandatory to suspend a particular job"),
        ("job resume", "resume job: job name is mandatory to resume a particular job"),
        ("job delete -N no", 'delete job: jobs.batch.volcano.sh "no" not found'),
        ("queue delete", "delete queue: queue name must be specified"),
        ("queue operate", "operate queue: queue name must be specified"),
        ("queue operate -n q", "operate queue: action can not be null"),
        ("queue operate -n q -a sing",
         "operate queue: action sing invalid, valid actions are open, close and update"),
        ("queue operate -n q -a update",
         "operate queue: when update queue q, weight must be specified, the value must be greater than 0"),
        ("queue delete -n default",
         'delete queue: admission webhook "validatequeue.volcano.sh" denied the request: '
         "`default` queue can not be deleted"),
        ("jobflow get", "get jobflow: jobflow name must be specified"),
        ("jobtemplate delete -N no", 'delete jobtemplate: jobtemplates.flow.volcano.sh "no" not found'),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_told_in_vcctls_words(vc: Vc, words: str, why: str) -> None:
    assert vc(*words.split()) == (255, f"Failed to {why}\n")


def test_a_queue_is_made_weighed_closed_opened_and_deleted(vc: Vc) -> None:
    def row() -> list[str]:
        return vc("queue", "get", "-n", "gpu")[1].splitlines()[1].split()

    assert vc("queue", "create", "-n", "gpu", "-w", "2") == (0, "")
    until(lambda: row()[:4] == ["gpu", "2", "Open", "root"])
    assert vc("queue", "list")[1].splitlines()[0] == (
        "Name                     Weight  State   Parent  Inqueue Pending Running Unknown Completed"
    )
    assert vc("queue", "operate", "-n", "gpu", "-a", "update", "-w", "5") == (0, "")
    assert row()[1] == "5"
    vc("queue", "operate", "-n", "gpu", "-a", "close")
    until(lambda: row()[2] == "Closed")
    vc("queue", "operate", "-n", "gpu", "-a", "open")
    until(lambda: row()[2] == "Open")
    assert vc("queue", "delete", "-n", "gpu") == (0, "")


def test_pod_groups_are_counted_by_queue_and_phase(vc: Vc) -> None:
    vc("job", "run", "-N", "waits", "-R", "cpu=10000", "-L", "cpu=10000")
    until(lambda: vc("queue", "get", "-n", "default")[1].splitlines()[1].split()[5] == "1")
    vc("job", "delete", "-N", "waits")


def test_flows_and_templates_come_from_files(vc: Vc, tmp_path: Path) -> None:
    flows, template = tmp_path / "flows.yaml", tmp_path / "template.yaml"
    flows.write_text(FLOW)
    template.write_text(TEMPLATE)
    made = (0, "Created JobTemplate: default/filed\n")
    assert vc("jobtemplate", "create", "-f", str(template)) == made
    assert vc("jobflow", "create", "-f", str(flows)) == (
        0, "Created JobFlow: default/f\nCreated JobFlow: default/g\n",
    )  # fmt: skip
    until(lambda: vc("jobflow", "get", "-N", "f")[1].split()[-2:-1] == ["Pending"])
    head = vc("jobflow", "list")[1].splitlines()[0]
    assert head == "Name    Namespace    Phase      Age    "
    assert vc("jobtemplate", "list") == (0, "Name     Namespace    \nfiled    default      \n")
    shown = json.loads(vc("jobflow", "describe", "-N", "f", "-o", "json")[1])
    assert (shown["kind"], "managedFields" in shown["metadata"]) == ("JobFlow", False)
    assert vc("jobflow", "describe")[1].count("---------------------------------") == 1
    assert vc("jobflow", "describe", "-N", "f", "-o", "xml") == (
        255, "Failed to describe jobflow: Unsupported format: xml\n",
    )  # fmt: skip
    assert vc("jobflow", "delete", "-N", "f") == (0, "Deleted JobFlow: default/f\n")
    assert vc("jobflow", "delete", "-f", str(flows))[0] == 255
    assert vc("jobtemplate", "delete", "-f", str(template)) == (0, "Deleted JobTemplate: default/filed\n")


def test_master_names_the_server_and_a_wrong_one_is_told(vc: Vc, running: RunningLongshore) -> None:
    assert vc("queue", "list", "--master", running.server)[0] == 0
    code, said = vc("queue", "list", "--master", "https://")
    assert code == 255
    assert said == (
        "Failed to list queue: --master: 'https://' is not the address of a server: write https://host:port\n"
    )


def test_a_name_is_never_taken_for_a_path(vc: Vc) -> None:
    assert "not found" in vc("jobflow", "get", "--name", "/")[1]


def test_people_who_look_for_plain_jobs_and_pods_are_pointed_to_them(
    vc: Vc, running: RunningLongshore
) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"metadata": {"name": "plain"}, "spec": {"suspend": True, "template": template}}
    pod = {"metadata": {"name": "plain"}, "spec": {**template["spec"], "schedulerName": "nobody"}}
    assert running.request("POST", "/apis/batch/v1/namespaces/kube-public/jobs", job)[0] == 201
    assert running.request("POST", "/api/v1/namespaces/kube-public/pods", pod)[0] == 201
    for kind in ("job", "pod"):
        hint = f"only Volcano's are listed here; for the others: longshore get {kind}s\n"
        assert vc(kind, "list", "-n", "kube-public") == (0, f"No resources found\n{hint}")


def test_pods_are_listed_by_job_and_queue(vc: Vc, running: RunningLongshore) -> None:
    labels = {"volcano.sh/job-name": "j", "volcano.sh/queue-name": "default"}
    body = {
        "metadata": {"name": "j-w-0", "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"},
    }
    assert running.request("POST", "/api/v1/namespaces/default/pods", body)[0] == 201
    for words in ((), ("-j", "j"), ("-q", "default"), ("-j", "j", "-q", "default")):
        head, row = vc("pod", "list", *words)[1].splitlines()
        assert head.split() == ["Name", "Ready", "Status", "Restart", "Age"]
        assert row.split()[:4] == ["j-w-0", "0/1", "Pending", "0"]
        assert head.index("Ready") == len("j-w-0") + 8
    assert vc("pod", "list", "-j", "other") == (0, "No resources found\n")
    assert vc("pod", "list", "-j", "j", "-q", "gpu") == (
        255, "Failed to list pod: the input vcjob j does not match the queue gpu\n",
    )  # fmt: skip


def test_the_commands_for_people_from_slurm_name_jobs_by_a_small_n(vc: Vc, running: RunningLongshore) -> None:
    assert vc("vc-sub", "-n", "slurm", "-r", "2", "-m", "1") == (0, "run job slurm successfully\n")
    assert "slurm" in vc("vc-jobs")[1]
    assert vc("vc-jobs", "-N", "kube-system") == (0, "No resources found\n")
    assert vc("vc-jobs", "-n", "slurm")[1].startswith("Name:       \tslurm\n")
    titles = ["Name", "Weight", "State", "Inqueue", "Pending", "Running", "Unknown"]
    head = f"{'Name':<25}" + "".join(f"{title:<8}" for title in titles[1:])
    assert vc("vc-queues")[1].splitlines()[0] == head
    default = vc("vc-queues", "-n", "default")[1].splitlines()
    assert (default[0], default[1].split()[:3]) == (head, ["default", "1", "Open"])

    def phase() -> Any:
        return (running.request("GET", f"{JOBS}/slurm")[1].get("status") or {}).get("state", {}).get("phase")

    until(lambda: phase() == "Pending")
    assert vc("vc-suspend", "-n", "slurm") == (0, "")
    until(lambda: phase() == "Aborted")
    assert vc("vc-resume", "-n", "slurm") == (0, "")
    until(lambda: phase() != "Aborted")
    assert vc("vc-cancel", "-n", "slurm", "-N", "default") == (0, "cancel job slurm successfully\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["vc-sub"], "job name cannot be left blank"),
        (["vc-sub", "-n", "x", "-R", "cpu"], "invalid argument syntax cpu, expected <resource>=<value>"),
        (["vc-sub", "-n", "x", "-c", "echo 'a"], "EOF found when expecting closing quote"),
        (["vc-cancel"], "job name is mandatory to cancel a particular job"),
        (["vc-suspend"], "job name is mandatory to suspend a particular job"),
        (["vc-resume"], "job name is mandatory to resume a particular job"),
        (["vc-jobs", "-n", "x"], 'jobs.batch.volcano.sh "x" not found'),
        (["vc-cancel", "-n", "x"], 'jobs.batch.volcano.sh "x" not found'),
        (["vc-queues", "-n", "x"], 'queues.scheduling.volcano.sh "x" not found'),
    ],
)
def test_the_programs_for_people_from_slurm_fail_in_volcanos_words(
    vc: Vc, words: list[str], said: str
) -> None:
    assert vc(*words) == (255, f"Failed to: {said}\n")


def test_a_job_is_submitted_with_its_command(
    vc: Vc, running: RunningLongshore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(name: str, namespace: str = "default") -> Any:
        job = running.request("GET", f"{JOBS.replace('default', namespace)}/{name}")[1]
        (container,) = job["spec"]["tasks"][0]["template"]["spec"]["containers"]
        return job["spec"]["schedulerName"], container["image"], container.get("command")

    assert vc("vc-sub", "-n", "told", "-c", "sh -c 'echo \"a  b\" # no' c # yes")[0] == 0
    assert made("told") == ("volcano", "busybox", ["sh", "-c", 'echo "a  b" # no', "c"])
    monkeypatch.setenv("VOLCANO_DEFAULT_IMAGE", "mine:1")
    monkeypatch.setenv("VOLCANO_SCHEDULER_NAME", "other")
    monkeypatch.setenv("VOLCANO_DEFAULT_JOB_NAMESPACE", "kube-public")
    assert vc("vc-sub", "--name", "env", "--command", "true")[0] == 0
    assert made("env", "kube-public") == ("other", "mine:1", ["true"])
    assert vc("vc-sub", "-n", "flags", "-i", "i", "-S", "s", "-N", "default")[0] == 0
    assert made("flags") == ("s", "i", None)


def test_each_of_volcanos_programs_is_installed_under_its_name() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    for name in ("vsub", "vjobs", "vqueues", "vcancel", "vsuspend", "vresume"):
        module, _, function = project["scripts"][name].partition(":")
        assert callable(getattr(importlib.import_module(module), function))
        assert f"vc-{name[1:]}" in main.names()


def test_the_version_has_vcctls_six_lines(vc: Vc) -> None:
    code, text = vc("version", "--vcctl")
    assert code == 0
    titles = [line.partition(":")[0] for line in text.splitlines()]
    assert titles == ["API Version", "Version", "Git SHA", "Built At", "Go Version", "Go OS/Arch"]


def test_pods_of_all_namespaces_are_listed_with_theirs(vc: Vc, running: RunningLongshore) -> None:
    pod = {
        "metadata": {"name": "far", "namespace": "kube-public", "labels": {"volcano.sh/job-name": "far"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"},
    }
    assert running.request("POST", "/api/v1/namespaces/kube-public/pods", pod)[0] == 201
    head, row = vc("pod", "list", "--all-namespaces", "-j", "far")[1].splitlines()
    assert head.split() == ["Namespace", "Name", "Ready", "Status", "Restart", "Age"]
    assert row.split()[:4] == ["kube-public", "far", "0/1", "Pending"]
    assert vc("pod", "list", "-j", "far", "-n", "kube-public")[1].startswith("Name ")


def test_a_template_is_described_with_gos_empty_structs() -> None:
    template = {"kind": "JobTemplate", "metadata": {"name": "t"}}
    pod = {"spec": {"containers": [{"name": "c"}]}}
    shown = flows._with_zeros({**template, "spec": {"tasks": [{"name": "w", "template": pod}]}})
    assert shown["status"] == {}
    (task,) = shown["spec"]["tasks"]
    assert task["template"]["metadata"] == {}
    assert task["template"]["spec"]["containers"] == [{"name": "c", "resources": {}}]
    flow = flows._with_zeros({"kind": "JobFlow", "metadata": {"name": "f"}})
    assert (flow["spec"], flow["status"]) == ({}, {"state": {}})
