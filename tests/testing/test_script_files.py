"""Scripts in YAML: what they say, and how what they should not say is refused."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.scripts.script_documents import rule_of, run_of
from longshore.testing import Chance, Exponential, Run
from longshore.testing.language_door import script_of


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
        ({"exit": {0: 3, 1: 1}, "logs": "x"}, Chance((3, Run(logs="x")), (1, Run(0.0, 1, logs="x")))),
        ({"duration": {"exponential": "1m"}}, Run(Exponential(60.0))),
    ],
)
def test_a_run_is_read(document: Any, wanted: Any) -> None:
    assert run_of(document) == wanted


def test_a_pod_that_never_starts_is_read() -> None:
    for document, reason in (
        ({"bad-image": True}, "ErrImagePull"),
        ({"missing-config": "x"}, "CreateContainer"),
    ):
        run = run_of(document)
        assert isinstance(run, Run)
        assert run.fails is not None
        assert reason in run.fails.reason


def test_a_file_is_read_with_settings_and_rules() -> None:
    row = {"name": "w-*", "labels": "a=b", "index": 2, "runs": [{"exit": 1}, {}]}
    settings, found = script_of({"clock": "real", "seed": 4, "default": {"after": "1m"}, "pods": [row]})
    assert found.default is not None
    assert (settings.clock, settings.seed, found.default.runs) == ("real", 4, (Run(60.0),))
    assert (found.rules[0].name, found.rules[0].labels, found.rules[0].index) == ("w-*", "a=b", 2)
    assert script_of({})[1].rules == ()


def test_a_rule_of_one_run_and_lists_of_both_names_say_alike() -> None:
    one = rule_of({"name": "x", "oom": True, "after": "2s"})
    many = (rule_of({"name": "x", name: [{"oom": True, "after": "2s"}]}) for name in ("runs", "attempts"))
    assert all(each.runs == one.runs == (Run.oom(after=2),) for each in many)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"pods": 3}, "pods: 3 is no list of rules"),
        ({"pods": [{"runs": 3}]}, r"pods\[0\].runs: 3 is no list of at least one run"),
        ({"pods": [{"runs": []}]}, r"pods\[0\].runs: \[\] is no list of at least one run"),
        ({"pods": [{"runs": [{"exit": 1, "oom": True}]}]}, "has exit and oom"),
        ({"pods": [{"runs": [{"ends": 1}]}]}, r"pods\[0\].runs\[0\]: there is no field 'ends'"),
        ({"pods": [{"runs": [{"exit": 999}]}]}, r"runs\[0\].exit: 999 is no exit code"),
        ({"pods": [{"logs": 3}]}, r"pods\[0\]: logs: 3 is no text"),
        ({"pods": [{"chance": 3}]}, r"pods\[0\].chance: 3 is no list of pairs"),
        ({"clock": "fast"}, "there is no 'fast'"),
        ({"speed": 3}, "there is no field 'speed'"),
        ([], r"the script: \[\] is no mapping"),
    ],
)
def test_a_wrong_script_is_refused_by_field_and_value(document: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        script_of(document)


def test_a_rule_that_is_wrong_says_where() -> None:
    with pytest.raises(ValueError, match="the rule: labels"):
        rule_of({"labels": "a==b==c", "runs": [{}]})
