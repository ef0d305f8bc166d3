"""`longshore cron` with a CronJob: its coming runs of a CronJob, and a run by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from longshore.cli.crontabs.cronjob_manifests import CannotOverride, instantiated
from longshore.cli.main import main
from support.longshore_process import RunningLongshore, longshore_up


def cronjob(**spec: Any) -> dict[str, Any]:
    containers = [
        {
            "name": "main",
            "image": "i",
            "args": ["old"],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {}}],
        },
        {"name": "helper", "image": "i"},
    ]
    pod = {"restartPolicy": "Never", "containers": containers}
    return {
        "metadata": {"name": "backup", "namespace": "ns", "uid": "4711"},
        "spec": {
            "schedule": "0 0 1 1 *",
            "jobTemplate": {
                "metadata": {"labels": {"from": "cron"}, "annotations": {"note": "kept"}},
                "spec": {"template": {"spec": pod}},
            },
            **spec,
        },
    }


def test_a_job_by_hand_is_what_kubectl_makes() -> None:
    source = cronjob()
    assert instantiated(source) == {
        "metadata": {
            "generateName": "backup-run-",
            "namespace": "ns",
            "labels": {"from": "cron"},
            "annotations": {"cronjob.kubernetes.io/instantiate": "manual", "note": "kept"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "name": "backup",
                    "uid": "4711",
                    "controller": True,
                }
            ],
        },
        "spec": source["spec"]["jobTemplate"]["spec"],
    }
    assert instantiated(source, name="mine")["metadata"]["name"] == "mine"


def containers(**overrides: Any) -> list[dict[str, Any]]:
    source = cronjob()
    found: list[dict[str, Any]] = instantiated(source, **overrides)["spec"]["template"]["spec"]["containers"]
    assert source == cronjob(), "the CronJob is not ours to change"
    return found


def test_variables_go_to_every_container_and_replace_those_of_their_name() -> None:
    main_, helper = containers(env=[("B", "2"), ("C", "x=y")])
    assert main_["env"] == [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
        {"name": "C", "value": "x=y"},
    ]
    assert helper["env"] == [{"name": "B", "value": "2"}, {"name": "C", "value": "x=y"}]


def test_a_named_container_alone_is_overridden() -> None:
    main_, helper = containers(env=[("C", "3")], args=["--new"], container="helper")
    assert (main_["args"], len(main_["env"])) == (["old"], 2)
    assert (helper["args"], helper["env"]) == (["--new"], [{"name": "C", "value": "3"}])


def test_overrides_that_do_not_fit_are_refused() -> None:
    with pytest.raises(CannotOverride, match="name it with --container: main, helper"):
        containers(args=["x"])
    with pytest.raises(CannotOverride, match="there is no container 'other'; there are: main, helper"):
        containers(env=[("A", "1")], container="other")


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    with longshore_up("--in-memory") as running:
        for name, spec in (
            ("backup", {"timeZone": "Europe/Berlin"}),
            ("asleep", {"suspend": True}),
            ("local", {}),
            ("odd", {"schedule": "0 0 31 2 *"}),
        ):
            body = {**cronjob(**spec), "metadata": {"name": name}}
            if name == "local":
                body["metadata"]["annotations"] = {"longshore.dev/jitter": "90s"}
            for one in body["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]:
                one.pop("env", None)
            running.made("POST", "/apis/batch/v1/namespaces/default/cronjobs", body)
        yield running


@pytest.fixture
def command(
    longshore: RunningLongshore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    monkeypatch.setenv("TZ", "America/New_York")
    monkeypatch.setenv("KUBECONFIG", str(longshore.kubeconfig))

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["cron", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_next_shows_the_coming_runs_in_both_zones(command: Any) -> None:
    code, out, _ = command("next", "backup", "-n", "2")
    year = (datetime.now(UTC) + timedelta(hours=1)).year + 1
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "cronjob backup: 0 0 1 1 *"
    assert lines[2].split("  ")[0] == "SCHEDULED (Europe/Berlin)"
    assert "LOCAL (America/New_York)" in lines[2]
    assert [line[4:27] for line in lines[3:]] == [f"{year + n}-01-01 00:00 +01:00" for n in range(2)]
    assert f"{year - 1}-12-31 18:00 -05:00" in lines[3]


def test_next_says_what_else_decides(command: Any) -> None:
    assert "suspended: nothing starts before it is resumed" in command("next", "asleep")[1]
    _, out, _ = command("next", "local", "--namespace", "default")
    assert "no timeZone is set: that of the controller counts, here taken for America/New_York" in out
    assert " s after its time (longshore.dev/jitter)" in out


def test_next_of_one_that_never_runs_fails(command: Any) -> None:
    assert command("next", "odd") == (
        1,
        "",
        "longshore: the schedule never fires: time difference between two schedules is less than 1 second\n",
    )


def test_run_creates_the_job(command: Any, longshore: RunningLongshore) -> None:
    code, out, _ = command(
        "run", "backup", "--env", "LEVEL=full", "-c", "main", "--job", "mine", "--args", "--fast", "-n", "3"
    )
    assert (code, out) == (0, "job.batch/mine created\n")
    made = longshore.made("GET", "/apis/batch/v1/namespaces/default/jobs/mine")
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["name"], owner["controller"]) == ("backup", True)
    main_ = made["spec"]["template"]["spec"]["containers"][0]
    assert main_["args"] == ["--fast", "-n", "3"]
    assert main_["env"] == [{"name": "LEVEL", "value": "full"}]
    _, out, _ = command("run", "backup")
    assert out.startswith("job.batch/backup-run-")


def test_what_cannot_be_done_is_said(command: Any) -> None:
    refused = 'Error from server (NotFound): cronjobs.batch "nobody" not found\n'
    assert command("run", "nobody") == (1, "", refused)
    code, _, err = command("run", "backup", "--args", "x")
    assert (code, err) == (
        2,
        "longshore: --args is for one container; name it with --container: main, helper\n",
    )
    code, _, err = command("run", "backup", "--env", "novalue")
    assert code == 2
    assert "'novalue' is not of the form NAME=VALUE" in err


def test_why_tells_what_the_controller_decided(command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "cronjob/asleep"]) == 0
    assert "  suspended: starts nothing\n" in capsys.readouterr().out
    assert main(["why", "cj", "backup"]) == 0
    assert "run it now: longshore cron run backup;" in capsys.readouterr().out
    assert main(["why", "cronjob/nobody"]) == 1
    assert capsys.readouterr().err == 'longshore: cronjobs.batch "nobody" not found\n'
    assert main(["why", "service/x"]) == 2
    assert "why knows no kind 'service': write KIND/NAME" in capsys.readouterr().err
