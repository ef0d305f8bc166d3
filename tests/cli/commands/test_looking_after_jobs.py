"""Commands about Jobs that really run: wait, logs, exec, suspend, describe, events, status, delete."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import pytest

from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")


def job(name: str, script: str, **spec: object) -> str:
    container = {"name": "main", "image": "i", "command": ["sh", "-c", script]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    body = {"backoffLimit": 0, **spec, "template": template}
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body})


def start(longshore: Command, name: str, script: str, **spec: object) -> None:
    longshore.ok("apply", "-f", "-", stdin=job(name, script, **spec))


@pytest.mark.parametrize(
    ("script", "code", "text"),
    [
        ("exit 0", 0, "job.batch/NAME complete\n"),
        (
            "exit 3",
            1,
            "job.batch/NAME failed: BackoffLimitExceeded: Job has reached the specified backoff limit\n",
        ),
    ],
)
def test_wait_for_done_tells_by_its_code_how_it_ended(
    longshore: Command, script: str, code: int, text: str
) -> None:
    name = f"done-{code}"
    start(longshore, name, script)
    done = longshore("wait", "--for=done", f"job/{name}")
    assert (done.exit, done.stdout) == (code, text.replace("NAME", name))


def test_wait_for_done_has_a_code_for_too_late_and_refuses_what_never_ends(longshore: Command) -> None:
    start(longshore, "slow", "sleep 600")
    done = longshore("wait", "--for=done", "job/slow", "--timeout=200ms")
    assert (done.exit, done.stderr) == (124, "error: timed out waiting for job.batch/slow to be done\n")
    assert longshore("wait", "--for=done", "ns/default").exit == 2
    assert longshore.ok("delete", "job/slow") == 'job.batch "slow" deleted from default namespace\n'


def test_a_look_without_a_wait_tells_how_a_job_ended(longshore: Command) -> None:
    start(longshore, "ended", "exit 0")
    longshore.ok("wait", "--for=done", "job/ended")
    start(longshore, "going", "sleep 600")
    done = longshore("wait", "--for=done", "job/ended", "job/going", "--timeout=0")
    assert (done.exit, done.stdout) == (124, "job.batch/ended complete\n")
    assert done.stderr == "error: timed out waiting for job.batch/going to be done\n"
    assert longshore.ok("wait", "--for=done", "job/ended", "--timeout=0") == "job.batch/ended complete\n"
    longshore.ok("delete", "job/going")


def test_wait_for_done_ends_for_a_job_that_went_while_another_was_waited_for(longshore: Command) -> None:
    gate = longshore.home / "first-gate"
    start(longshore, "zeroth", "exit 0")
    start(longshore, "first", f"until [ -e {gate} ]; do sleep 0.02; done")
    start(longshore, "second", "sleep 600")
    waiting = longshore.start("wait", "--for=done", "job/zeroth", "job/first", "job/second")
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "job.batch/zeroth complete\n"  # all three were there
    longshore.ok("delete", "job/second")
    gate.touch()
    try:
        out, said = waiting.communicate(timeout=60)
    finally:
        waiting.kill()
    assert (waiting.returncode, out) == (1, "job.batch/first complete\n")
    assert said == "job.batch/second was deleted before it was done\n"


def test_logs_of_a_pod_a_job_and_a_selector(longshore: Command) -> None:
    start(longshore, "talk", "echo one; echo two; echo three", completions=2, parallelism=2)
    longshore.ok("wait", "--for=done", "job/talk")
    pods = longshore.ok("get", "pods", "-l", "job-name=talk", "-o", "name").split()
    assert longshore.ok("logs", pods[0]) == "one\ntwo\nthree\n"
    assert longshore.ok("logs", pods[0].removeprefix("pod/"), "--tail=1") == "three\n"
    one = longshore("logs", "job/talk", "--tail", "2")
    assert one.stdout == "two\nthree\n"
    assert re.fullmatch(r"Found 2 pods, using pod/talk-\w{5}\n", one.stderr)
    every = longshore.ok("logs", "job/talk", "--all-pods", "--prefix", "--tail=1").splitlines()
    assert sorted(every) == sorted(f"[{pod}/main] three" for pod in pods)
    assert longshore.ok("logs", "-l", "job-name=talk", "--tail=1") == "three\nthree\n"
    stamped = longshore.ok("logs", pods[0], "--timestamps", "--tail=1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z three\n", stamped)
    assert longshore("logs", "nobody").stderr == 'Error from server (NotFound): pods "nobody" not found\n'


def test_logs_are_followed_to_the_end(longshore: Command) -> None:
    gate = longshore.home / "gate"
    script = f"echo drop 1; while [ ! -e {gate} ]; do sleep 0.05; done; echo drop 2"
    start(longshore, "drip", script, completions=2, parallelism=2)
    longshore.ok("wait", "--for=jsonpath={.status.ready}=2", "job/drip")
    follow = longshore.start("logs", "-f", "job/drip", "--all-pods", "--prefix")
    assert follow.stdout is not None
    first = [follow.stdout.readline() for _ in range(2)]
    assert all(line.endswith("drop 1\n") for line in first)
    gate.touch()
    rest, _ = follow.communicate(timeout=30)
    assert [line[-6:] for line in rest.splitlines()] == ["drop 2", "drop 2"]
    assert follow.returncode == 0


def test_logs_that_nobody_reads_any_more_end_though_one_of_the_pods_is_silent(longshore: Command) -> None:
    script = "[ $JOB_COMPLETION_INDEX = 1 ] || while echo drop; do sleep 0.05; done; sleep 600"
    start(longshore, "unheard", script, completions=2, parallelism=2, completionMode="Indexed")
    longshore.ok("wait", "--for=jsonpath={.status.ready}=2", "job/unheard")
    with longshore.start("logs", "-f", "job/unheard", "--all-pods") as follow:
        assert follow.stdout is not None
        assert follow.stderr is not None
        assert follow.stdout.readline() == "drop\n"
        follow.stdout.close()
        try:
            assert follow.wait(timeout=60) == 141
        finally:
            follow.kill()
        assert follow.stderr.read() == ""
    longshore.ok("delete", "job/unheard")


def test_conditions_of_other_shapes_are_no_conditions_to_wait_for(longshore: Command) -> None:
    tasks = [
        {"name": "w", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    ]
    gang = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "odd"}}
    longshore.ok("apply", "-f", "-", stdin=json.dumps({**gang, "spec": {"queue": "default", "tasks": tasks}}))
    longshore.ok("wait", "--for=jsonpath={.status.conditions[0].status}", "vcjob/odd")
    late = longshore("wait", "--for=condition=running", "--timeout=0", "vcjob/odd")
    assert (late.exit, late.stderr) == (1, "error: condition not met for jobs/odd\n")
    longshore.ok("delete", "vcjob/odd", "--now")


def test_what_failed_pods_wrote_survives_them(longshore: Command) -> None:
    start(longshore, "lost", "echo it was like this; exit 4")
    longshore.ok("wait", "--for=condition=failed", "job/lost")
    there = longshore.ok("logs", "--failed", "job/lost")
    assert re.match(r"==> pod/lost-\w{5} main: exit code 4, \S+Z <==\nit was like this\n", there)
    longshore.ok("delete", "job/lost")
    pod = there.split()[1]
    longshore.ok("wait", "--for=delete", pod, "--timeout=20s")
    until = time.monotonic() + 60
    while (gone := longshore("logs", "--failed", "job/lost")).exit and time.monotonic() < until:
        time.sleep(0.1)
    assert gone.stdout == there
    assert longshore("logs", "--failed", "job/talks-not").exit == 1


def test_exec_runs_beside_the_container_with_its_exit_code(longshore: Command) -> None:
    start(longshore, "host", "export X=1; sleep 600")
    longshore.ok("wait", "--for=jsonpath={.status.ready}=1", "job/host")
    done = longshore(
        "exec", "-i", "job/host", "--", "sh", "-c", "cat; echo oops >&2; exit 7", stdin="typed\n"
    )
    assert (done.exit, done.stdout, done.stderr) == (7, "typed\n", "oops\n")
    assert longshore("exec", "job/host").exit == 2
    assert longshore("exec", "nobody", "--", "true").exit == 1
    without = longshore.start("exec", "-i", "job/host", "--", "cat", stdin=subprocess.DEVNULL)
    try:
        assert without.communicate(timeout=60) == ("", "")  # the command sees the end of the input
    finally:
        without.kill()
    longshore.ok("delete", "job/host", "--grace-period=1")


def test_suspend_stops_the_pods_and_resume_starts_new_ones(longshore: Command) -> None:
    start(longshore, "pause", "sleep 600")
    longshore.ok("wait", "--for=jsonpath={.status.ready}=1", "job/pause")
    assert longshore.ok("suspend", "job/pause") == "job.batch/pause suspended\n"
    assert longshore.ok("suspend", "job/pause") == "job.batch/pause unchanged\n"
    longshore.ok("wait", "--for=condition=suspended", "job/pause")
    assert longshore.ok("resume", "job", "pause") == "job.batch/pause resumed\n"
    longshore.ok("wait", "--for=jsonpath={.status.ready}=1", "job/pause")
    refused = longshore("suspend", "ns/default")
    assert (refused.exit, refused.stderr) == (
        2,
        "error: namespaces cannot be suspended: only Jobs and CronJobs can\n",
    )
    longshore.ok("delete", "job/pause", "--now")


def test_suspend_and_resume_find_an_object_by_its_name_alone(longshore: Command) -> None:
    start(longshore, "alone", "sleep 600")
    assert longshore.ok("suspend", "alone") == "job.batch/alone suspended\n"
    assert longshore.ok("resume", "alone") == "job.batch/alone resumed\n"
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": json.loads(job("x", "true"))["spec"]}}
    cronjob = {"apiVersion": "batch/v1", "kind": "CronJob", "spec": spec}
    for name in ("alone", "yearly"):
        longshore.ok("apply", "-f", "-", stdin=json.dumps({**cronjob, "metadata": {"name": name}}))
    assert longshore.ok("suspend", "yearly") == "cronjob.batch/yearly suspended\n"
    both = longshore("suspend", "alone")
    said = "error: there are cronjob.batch/alone and job.batch/alone: name one of them so\n"
    assert (both.exit, both.stdout, both.stderr) == (2, "", said)
    none = longshore("suspend", "yearly", "nobody")
    said = 'error: there is no Job and no CronJob "nobody" in namespace "default"\n'
    assert (none.exit, none.stdout, none.stderr) == (1, "", said)
    longshore.ok("delete", "job/alone", "cronjob/alone", "cronjob/yearly", "--now")


def test_logs_and_history_of_a_cronjob_are_those_of_its_runs(longshore: Command) -> None:
    script = "echo run of $RUN; case $RUN in bad*) exit 3; esac"
    template = {"spec": json.loads(job("x", script))["spec"]}
    spec = {"schedule": "0 0 1 1 *", "failedJobsHistoryLimit": 0, "jobTemplate": template}
    cronjob = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "night"}, "spec": spec}
    longshore.ok("apply", "-f", "-", stdin=json.dumps(cronjob))
    none = longshore("logs", "cronjob/night")
    assert (none.exit, none.stderr) == (1, "error: no run of cronjob/night is known\n")
    for name in ("a-good", "b-bad", "c-good"):
        env = f"RUN={name.partition('-')[2]} {name}"
        longshore.ok("cron", "run", "night", "--job", f"night-{name}", "--env", env)
    for name in ("a-good", "c-good"):
        longshore.ok("wait", "--for=done", f"job/night-{name}")
    longshore.ok("wait", "--for=delete", "job/night-b-bad")
    assert longshore.ok("logs", "cronjob/night") == "run of good c-good\n"
    assert longshore.ok("logs", "cj/night", "--all") == "run of good a-good\nrun of good c-good\n"
    while (kept := longshore("logs", "cronjob/night", "--failed")).exit:  # the node keeps logs in batches
        assert "no failed pod of job/night-b-bad is known" in kept.stderr
    failed = kept.stdout
    assert failed.endswith("run of bad b-bad\n")
    assert "exit code 3" in failed
    refused = longshore("logs", "job/night-a-good", "--all")
    assert (refused.exit, "--all is for the runs of a CronJob" in refused.stderr) == (2, True)

    def listed(*words: str) -> list[str]:
        rows = json.loads(longshore.ok("history", "-o", "json", *words))["items"]
        return sorted(row["name"] for row in rows)

    known = ["night-a-good", "night-b-bad", "night-c-good"]
    assert listed("--cronjob", "night") == listed("--cronjob=cronjob/night", "--since", "1h") == known
    assert listed("--cronjob", "nobody") == []
    assert "night-a-good" not in listed("--since", "1ms")
    longshore.ok("delete", "cronjob/night", "--now")


def test_flags_that_name_server_and_namespace_may_come_before_the_command(longshore: Command) -> None:
    here = str(longshore.home / "data" / "kubeconfig")
    front = ("--kubeconfig", here, "-n", "kube-system")
    assert longshore.ok(*front, "get", "sa", "-o", "name") == "serviceaccount/default\n"
    assert longshore.ok(*front, "auth", "can-i", "get", "pods") == "yes\n"
    assert "kube-public" in longshore.ok("-n=x", "get", "ns", "kube-public")
    later = longshore.ok("--namespace=x", "get", "sa", "-n", "kube-public", "-o", "name")
    assert later == "serviceaccount/default\n"
    done = longshore("-n", "kube-public", "run", "--", "echo", "x", "-n")
    assert (done.exit, done.stdout) == (0, "x -n\n"), done.stderr
    assert longshore.ok("-n", "kube-public", "get", "jobs", "-o", "name") != ""


def test_describe_and_events_tell_the_same_story(longshore: Command) -> None:
    start(longshore, "story", "true")
    longshore.ok("wait", "--for=done", "job/story")
    told = longshore.ok("describe", "job", "story")
    assert re.search(r"^Pods Statuses: +0 Active \(0 Ready\) / 1 Succeeded / 0 Failed$", told, re.M)
    assert re.search(r"^  Normal +Completed +\S+ +job-controller +Job completed$", told, re.M)
    assert re.search(r"^Why:\n  \d\d:\d\d:\d\d  created 1 pod\n", told, re.M)
    assert re.search(r"^  next      nothing: the Job is complete\.", told, re.M)
    events = longshore.ok("events", "--for", "job/story")
    assert re.search(r"Normal +Completed +Job/story +Job completed$", events, re.M)
    node = longshore.ok("describe", "nodes")
    assert re.search(r"^Allocated resources:$", node, re.M)
    assert re.search(r"^ +Ready +True ", node, re.M)
    assert re.search(r"^Kind: +Queue$", longshore.ok("describe", "queue/default"), re.M)


def test_a_watch_shows_what_changes_until_ctrl_c(longshore: Command) -> None:
    watch = longshore.start("get", "cm", "-w", "-l", "watched", "-o", "name")
    assert watch.stdout is not None
    time.sleep(1.5)
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen, labels: {watched: ''}}\n"
    longshore.ok("apply", "-f", "-", stdin=manifest)
    assert watch.stdout.readline() == "configmap/seen\n"
    watch.send_signal(2)
    watch.communicate(timeout=10)
    assert watch.returncode == 130


def test_status_counts_what_is_there(longshore: Command) -> None:
    start(longshore, "counted", "true")
    longshore.ok("wait", "--for=condition=complete", "job/counted")
    text = longshore.ok("status")
    assert re.search(r"^server +https://127\.0\.0\.1:\d+, Kubernetes v1\.\d+", text, re.M)
    assert re.search(rf"^process +\d+, for \w+, on {longshore.home}/data$", text, re.M)
    assert re.search(r"^node +\S+: ready, process://\S+; \d+ pods ask for cpu \S+ of \S+, memory", text, re.M)
    assert re.search(r", memory [\d.]+ (bytes|[KMG]iB) of [\d.]+ [MGT]iB$", text, re.M)
    assert re.search(r"^jobs +.*\d+ complete", text, re.M)
    found = json.loads(longshore.ok("status", "-o", "json"))
    assert found["nodes"][0]["ready"] == "True"


def test_there_may_be_nothing_here(longshore: Command) -> None:
    nowhere = Command(longshore.home, {"LONGSHORE_HOME": str(longshore.home / "nowhere")})
    assert nowhere("status").exit == 1
    assert "start one with: longshore up" in nowhere("status").stderr
    assert nowhere.ok("down") == f"no longshore runs on {longshore.home}/nowhere\n"


def test_get_loads_nothing_that_would_make_it_slow(longshore: Command) -> None:
    """What keeps it under 250 ms: no event loop, no HTTP library, no server."""
    heavy = "asyncio", "cryptography", "rich", "sqlite3", "uvloop", "longshore.apiserver"
    code = (
        "import sys; from longshore.cli.main import main; code = main(['get', 'jobs'])\n"
        f"sys.exit(', '.join(m for m in {heavy!r} if m in sys.modules) or code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **longshore.environment()},
    )
    assert done.returncode == 0, done.stderr
