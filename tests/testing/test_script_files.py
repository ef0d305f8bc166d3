"""Scripts in YAML: what they say, and how what they should not say is refused."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.testing import Chance, Run
from longshore.testing.script_files import outcome_of, rule_of, script_of


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        ({}, Run()),
        ({"exit": 3, "after": "2s", "logs": "x", "message": "m"}, Run(2.0, 3, logs="x", message="m")),
        ({"forever": True, "on-term": "never"}, Run.forever(on_term=None)),
        ({"oom": True, "after": 1}, Run.oom(after=1)),
        ({"signal": "SEGV"}, Run.killed(11)),
        ({"after": "1s..2s", "ready-after": "5s"}, Run("1s..2s", ready_after=5)),
        ({"chance": [[1, {"exit": 1}], [3, {}]]}, Chance((1, Run(0.0, 1)), (3, Run()))),
    ],
)
def test_a_run_is_read(document: Any, wanted: Any) -> None:
    assert outcome_of(document) == wanted


def test_a_pod_that_never_starts_is_read() -> None:
    for document, reason in (
        ({"bad-image": True}, "ErrImagePull"),
        ({"missing-config": "x"}, "CreateContainer"),
    ):
        run = outcome_of(document)
        assert isinstance(run, Run)
        assert run.fails is not None
        assert reason in run.fails.reason


def test_a_file_is_read_with_settings_and_rules() -> None:
    row = {"name": "w-*", "labels": "a=b", "index": 2, "runs": [{"exit": 1}, {}]}
    found = script_of({"clock": "real", "seed": 4, "default": {"after": "1m"}, "pods": [row]})
    assert (found.settings.clock, found.settings.seed, found.default) == ("real", 4, Run(60.0))
    assert (found.rules[0].name, found.rules[0].labels, found.rules[0].index) == ("w-*", "a=b", 2)
    assert script_of({}).rules == ()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"pods": 3}, "pods: must be a list"),
        ({"pods": [{"name": "x"}]}, r"pods\[0\].runs: must be a list"),
        ({"pods": [{"runs": [{"exit": 1, "oom": True}]}]}, "has exit and oom"),
        ({"pods": [{"runs": [{"ends": 1}]}]}, r"pods\[0\].runs\[0\]: there is no field 'ends'"),
        ({"pods": [{"runs": [{"exit": 999}]}]}, "between 0 and 255"),
        ({"clock": "fast"}, "there is no 'fast'"),
        ({"speed": 3}, "there is no field 'speed'"),
        ([], "must be a mapping"),
    ],
)
def test_a_wrong_script_is_refused_by_field_and_value(document: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        script_of(document)


def test_a_rule_that_is_wrong_says_where() -> None:
    with pytest.raises(ValueError, match="the rule: labels"):
        rule_of({"labels": "a==b==c", "runs": [{}]})
