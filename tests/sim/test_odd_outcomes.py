"""Odd outcome files and annotations: refused before anything is played, with field, value and rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.cli.main import main
from sim.worlds import cron_job, gang, job

DURATION, EXIT_CODES = "sim.longshore.dev/duration", "sim.longshore.dev/exit-codes"


def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], work: Obj, outcomes: str | bytes = "") -> str:
    """What is said on the command line."""
    (tmp_path / "work.json").write_text(json.dumps(work))
    asked = ["sim", str(tmp_path / "work.json"), "--for", "1h"]
    if outcomes:
        (tmp_path / "how.yaml").write_bytes(outcomes if isinstance(outcomes, bytes) else outcomes.encode())
        asked += ["--outcomes", str(tmp_path / "how.yaml")]
    assert main(asked) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ("# nothing", "the outcome file: None is no mapping"),
        (b"\xff\xfe", "is not YAML: 'utf-8'"),
        ("[" * 9999, "is nested too deeply"),
        ("pods: 3", "pods: 3 is no list of rules"),
        ("pods: {a: b}", "pods: {'a': 'b'} is no list of rules"),
        ("nodes: 3", "nodes: 3 is no mapping"),
        ("nodes: [a]", "nodes: ['a'] is no mapping"),
        ("nodes: {mtbf: .inf}", "nodes.mtbf: inf is not a duration: it never ends"),
        ("nodes: {repair: -1}", "nodes.repair: -1 is not a duration"),
        ("evictions: 3", "evictions: 3 is no mapping"),
        ("evictions: {mean: .inf}", "evictions.mean: inf is not a duration"),
        ("expect: [a]", "expect: 'a' is no mapping"),
    ],
)
def test_odd_files(outcomes: str | bytes, said: str, tmp_path: Path, capsys: Any) -> None:
    assert said in refused(tmp_path, capsys, job(), outcomes)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("-5", "-5 is not a duration: it must be 0 or more seconds"),
        ("null", "None is not a duration"),
        ("2027-01-01", "datetime.date(2027, 1, 1) is not a duration"),
        ("[]", "OneOf needs at least one duration"),
        ("[[1]]", "[1] is not a duration"),
        ("{uniform: 3}", "3 is not what uniform needs: from and to"),
        ("{uniform: [1, 2]}", "[1, 2] is not what uniform needs: from and to"),
        ("{uniform: {from: 5}}", "{'from': 5} is not what uniform needs: from and to"),
        ("{normal: x}", "'x' is not what normal needs: mean and deviation"),
        (
            "{lognormal: {median: 5, sigma: []}}",
            "[] is no sigma: write a number of 0 or more, and at most 10",
        ),
        ("{lognormal: {median: 5, sigma: .nan}}", "nan is no sigma"),
        ("{lognormal: {median: 5, sigma: 1.0e+300}}", "1e+300 is no sigma"),
        ("{exponential: .inf}", "inf is not a duration: it never ends"),
        ("{exponential: {}}", "{} is not what exponential needs: mean"),
        ("{gamma: 1}", "'gamma' is no distribution"),
    ],
)
def test_odd_durations(value: str, said: str, tmp_path: Path, capsys: Any) -> None:
    text = refused(tmp_path, capsys, job(), f"default: {{duration: {value}}}")
    assert f"default.duration: {said}" in text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x", "'x' is no exit code: write a whole number from 0 to 255"),
        ("[1]", "[1] is no exit code"),
        ("null", "None is no exit code"),
        ("true", "True is no exit code"),
        ("1.5", "1.5 is no exit code"),
        ("256", "256 is no exit code"),
        ("{null: 1}", "None is no exit code"),
        ("{0: []}", "[] is no share: write a number of 0 or more"),
        ("{0: null}", "None is no share"),
        ("{0: -1, 1: 2}", "-1 is no share"),
        ("{0: .nan}", "nan is no share"),
        ("{0: .inf}", "inf is no share"),
        ("{}", "{} has no exit code with a share of more than 0"),
        ("{0: 0}", "{0: 0} has no exit code with a share of more than 0"),
    ],
)
def test_odd_exit_codes(value: str, said: str, tmp_path: Path, capsys: Any) -> None:
    text = refused(tmp_path, capsys, job(), f"pods: [{{exit: {value}}}]")
    assert f"pods[0].exit: {said}" in text


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("attempts: 3", "pods[0].attempts: 3 is no list of at least one attempt"),
        ("attempts: []", "pods[0].attempts: [] is no list of at least one attempt"),
        ("attempts: [{attempts: []}]", "pods[0].attempts[0]: there is no field 'attempts'"),
        ("name: 3", "pods[0].name: 3 is no text: quote it"),
        ("job: [x]", "pods[0].job: ['x'] is no text"),
        ("image: 3", "pods[0].image: 3 is no text"),
        ("namespace: null", "pods[0].namespace: None is no text"),
        ("labels: {a: b}", "pods[0].labels: {'a': 'b'} is no text"),
        ("labels: a in (", "pods[0]: labels 'a in (':"),
        ("index: x", "pods[0].index: 'x' is no index: write a whole number of 0 or more"),
        ("index: -1", "pods[0].index: -1 is no index"),
    ],
)
def test_odd_rules(rule: str, said: str, tmp_path: Path, capsys: Any) -> None:
    assert said in refused(tmp_path, capsys, job(), f"pods:\n- {rule}")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (DURATION, "soon", "'soon' is not a duration"),
        (DURATION, "-5s", "'-5s' is not a duration"),
        (DURATION, "3m±", "'' is not a duration"),
        (DURATION, "5m..1m", "the first must not be the longer one"),
        (DURATION, 3, "3 is no text: quote it"),
        ("sim.longshore.dev/exit", "1", f"there are {DURATION} and {EXIT_CODES}, and no others"),
        (DURATION, None, "None is no text: quote it"),
        (EXIT_CODES, "", "'' is no exit code"),
        (EXIT_CODES, "0,,1", "'' is no exit code"),
        (EXIT_CODES, "300", "'300' is no exit code"),
        (EXIT_CODES, "0:x", "'x' is no share"),
        (EXIT_CODES, "0:nan", "'nan' is no share"),
        (EXIT_CODES, "0:0", "{'0': '0'} has no exit code with a share of more than 0"),
    ],
)
@pytest.mark.parametrize("place", ["metadata", "metadata of the pod template"])
def test_odd_annotations(place: str, key: str, value: Any, said: str, tmp_path: Path, capsys: Any) -> None:
    work = job()
    holder = work if place == "metadata" else work["spec"]["template"]
    holder.setdefault("metadata", {})["annotations"] = {key: value}
    text = refused(tmp_path, capsys, work)
    assert f"Job x: annotation {key} in {place}: " in text
    assert said in text


def test_seconds_of_an_annotation_need_no_unit(tmp_path: Path, capsys: Any) -> None:
    work = job()
    work["metadata"]["annotations"] = {DURATION: "90"}
    (tmp_path / "work.json").write_text(json.dumps(work))
    assert main(["sim", str(tmp_path / "work.json"), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["ended"] == pytest.approx(90)


def test_an_annotation_that_is_tried_counts(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "work.json").write_text(json.dumps(job()))
    tried = f"job/x.metadata.annotations={{{DURATION}: 5m}}"
    assert main(["sim", str(tmp_path / "work.json"), "--set", tried, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["ended"] == pytest.approx(300)


@pytest.mark.parametrize("odd", ["x", [], 3])
def test_odd_objects_with_annotations_are_refused_by_the_api(odd: Any, tmp_path: Path, capsys: Any) -> None:
    def noted(work: Obj, **spec: Any) -> Obj:
        meta = {**work["metadata"], "annotations": {DURATION: "3m"}}
        return {**work, "metadata": meta, "spec": {**work["spec"], **spec}}

    objects = [
        {**noted(job()), "spec": odd},
        noted(job(), template=odd),
        noted(job(), template={**job()["spec"]["template"], "metadata": odd or "y"}),
        noted(job(), template={**job()["spec"]["template"], "metadata": {"annotations": odd or "y"}}),
        noted(cron_job("x", "0 5 * * *"), jobTemplate=odd),
        noted(gang("x", 1, "1"), tasks=odd),
        noted(gang("x", 1, "1"), tasks=[odd]),
        {**job(), "metadata": {"name": "x", "annotations": odd or "y"}},
    ]
    for work in objects:
        assert "cannot unmarshal" in (said := refused(tmp_path, capsys, work)) or "spec.tasks" in said
