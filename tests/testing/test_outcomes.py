"""How runs go, in data: durations, spreads, codes, signals, and which pod gets which run."""

from __future__ import annotations

import random
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.scripts.runs import chosen
from longshore.scripts.spreads import seconds
from longshore.testing import (
    Chance,
    Exit,
    Exponential,
    LogNormal,
    Normal,
    OneOf,
    Rule,
    Run,
    Scripts,
    Uniform,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("90s", 90),
        ("1h30m", 5400),
        ("300ms", 0.3),
        ("2d", 172800),
        ("1w1d", 691200),
        ("1d12h", 129600),
        (3, 3),
    ],
)
def test_a_duration_is_a_text_or_a_number_of_seconds(text: Any, wanted: float) -> None:
    assert seconds(text) == wanted


@pytest.mark.parametrize("text", ["", "soon", "5", "-3s", -1, None, True, "3 s", float("nan")])
def test_anything_else_is_no_duration_and_the_error_shows_how_to_write_one(text: Any) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds(text)


@pytest.mark.parametrize(
    ("spread", "low", "high"),
    [
        ("10s..20s", 10, 20),
        ("1m±1s", 50, 70),
        ("1m+-1s", 50, 70),
        (Uniform(10, "20s"), 10, 20),
        (Normal(60, 1), 50, 70),
        (LogNormal("1m", 0.1), 30, 120),
        (Exponential("1s"), 0, 30),
        (OneOf("3s", 4), 3, 4),
        ("0s±0s", 0, 0),
    ],
)
def test_spreads_are_drawn_by_the_dice_and_the_same_seed_draws_the_same(
    spread: Any, low: float, high: float
) -> None:
    drawn = [Run(spread).drawn(random.Random(7)).ends_after for _ in range(2)]
    assert drawn[0] == drawn[1]
    rng = random.Random(1)
    lengths = [Run(spread).drawn(rng).ends_after for _ in range(100)]
    assert all(length is not None and low <= length <= high for length in lengths)


def test_a_bad_spread_is_refused_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="must not be the longer one"):
        Run("20s..10s")
    with pytest.raises(ValueError, match="more than 0"):
        Exponential(0)
    with pytest.raises(ValueError, match="at least one"):
        OneOf()


def test_a_run_says_code_or_signal_and_a_wrong_one_is_refused() -> None:
    assert (Exit(3).code, Exit(3).signal) == (3, 0)
    assert (Run.killed("SEGV").code, Run.killed("SIGSEGV").signal) == (139, 11)
    assert (Run.oom().code, Run.oom().reason) == (137, "OOMKilled")
    with pytest.raises(ValueError, match="between 0 and 255"):
        Exit(300)
    with pytest.raises(ValueError, match="is no signal"):
        Run.killed("SIGNONE")


def test_chances_choose_by_weight() -> None:
    mostly = Chance((0.9, Exit(0)), (0.1, Exit(7)))
    rng = random.Random(3)
    codes = [chosen(mostly, rng).code for _ in range(500)]
    assert 20 < codes.count(7) < 90
    with pytest.raises(ValueError, match="weights"):
        Chance()


# ---- which pod gets which run


def a_pod(name: str = "p", job: str = "", index: int | None = None, **more: Any) -> Obj:
    meta: Obj = {
        "name": name,
        "namespace": more.pop("namespace", "default"),
        "labels": more.pop("labels", {}),
    }
    if job:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "u", "controller": True}
        meta["ownerReferences"] = [owner]
    if index is not None:
        meta["annotations"] = {"batch.kubernetes.io/job-completion-index": str(index)}
    containers = more.pop("containers", [{"name": "main", "image": "busybox:1"}])
    return {"metadata": meta, "spec": {"containers": containers, **more}}


def code_of(scripts: Scripts, pod: Obj, container: str = "main") -> int:
    return scripts.run_of(pod, container).code


def scripts(*rules: Rule) -> Scripts:
    return Scripts(random.Random(0), rules)


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "work*"},
        {"name": "train"},
        {"labels": "app=x,tier notin (web)"},
        {"image": "busybox:*"},
        {"job": "tr*"},
        {"job": "train", "index": 3},
        {"namespace": "default"},
        {"container": "ma*"},
    ],
)
def test_a_rule_finds_pods_by_name_labels_image_job_index_namespace_and_container(
    rule: dict[str, Any],
) -> None:
    found = scripts(Rule(runs=(Exit(9),), **rule))
    meant = a_pod("worker-1", "train", 3, labels={"app": "x"})
    other = a_pod("server", "serve", 2, namespace="other", containers=[{"name": "c", "image": "nginx"}])
    assert code_of(found, meant) == 9
    assert code_of(found, other, "c") == 0


def test_the_latest_rule_counts() -> None:
    found = scripts(Rule("*", (Exit(1),)), Rule("w*", (Exit(2),)))
    assert code_of(found, a_pod("w")) == 2
    assert code_of(found, a_pod("x")) == 1


def test_a_list_is_attempts_and_its_last_run_repeats() -> None:
    found = scripts(Rule("*", (Exit(1), Exit(2), Exit(0))))
    assert [code_of(found, a_pod(f"j-{n}", "j")) for n in range(5)] == [1, 2, 0, 0, 0]


def test_each_index_has_attempts_of_its_own() -> None:
    found = scripts(Rule("*", (Exit(1), Exit(0))))
    first = [code_of(found, a_pod(f"j-{index}-a", "j", index)) for index in range(3)]
    again = [code_of(found, a_pod(f"j-{index}-b", "j", index)) for index in range(3)]
    assert (first, again) == ([1, 1, 1], [0, 0, 0])


def test_pods_without_an_owner_share_their_attempts() -> None:
    found = scripts(Rule("task-*", (Exit(1), Exit(0))))
    assert [code_of(found, a_pod(f"task-{n}")) for n in range(2)] == [1, 0]


def test_a_function_sees_the_pod() -> None:
    found = scripts(Rule("*", (lambda pod: Exit(len(pod["metadata"]["name"])),)))
    assert code_of(found, a_pod("four")) == 4


def test_init_containers_and_sidecars_go_well_unless_they_are_named() -> None:
    pod = a_pod(
        initContainers=[
            {"name": "init", "image": "i"},
            {"name": "side", "image": "i", "restartPolicy": "Always"},
        ]
    )
    found = scripts(Rule("*", (Exit(5),)))
    assert code_of(found, pod, "init") == 0
    assert found.run_of(pod, "side").seconds is None
    assert code_of(scripts(Rule("*", (Exit(5),), container="init")), pod, "init") == 5


def test_a_rule_without_runs_or_with_a_bad_selector_is_refused() -> None:
    with pytest.raises(ValueError, match="no run"):
        Rule("x", ())
    with pytest.raises(ValueError, match="is no run"):
        Rule("x", (0,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="labels"):
        Rule("x", labels="a==b==c")
