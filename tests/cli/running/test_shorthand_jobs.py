"""A command line as a Job: pure."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.cli.main import Failure
from longshore.cli.running.each_items import Items
from longshore.cli.running.shorthand import WantedRun, job


def made(*command: str, environ: dict[str, str] | None = None, **wanted: Any) -> dict[str, Any]:
    return job(WantedRun(command, **wanted), environ or {}, "/here")


def container(*command: str, **wanted: Any) -> dict[str, Any]:
    (found,) = made(*command, **wanted)["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_it_is_an_indexed_job_whose_indexes_are_retried_by_themselves() -> None:
    spec = made("./work.sh", completions=100, parallelism=8, retries=2)["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (100, 8, "Indexed")
    assert spec["backoffLimitPerIndex"] == 2
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert "maxFailedIndexes" not in spec


def test_fail_fast_gives_up_with_the_first_lost_index() -> None:
    assert made("x", fail_fast=True)["spec"]["maxFailedIndexes"] == 0


def test_it_never_runs_more_at_once_than_there_is_to_do() -> None:
    assert made("true")["spec"]["parallelism"] == 1


def test_it_runs_where_the_caller_is_and_finds_programs_as_a_shell_does() -> None:
    assert container("./work.sh", "a")["command"] == ["/here/./work.sh", "a"]
    assert container("work.sh")["command"] == ["work.sh"]
    assert container("/bin/true")["command"] == ["/bin/true"]
    assert container("x")["workingDir"] == "/here"


@pytest.mark.parametrize(
    ("word", "without", "with_items"),
    [
        ("{}", "{}", "$(LONGSHORE_ITEM)"),
        ("a{}.{#}", "a{}.{#}", "a$(LONGSHORE_ITEM).$(LONGSHORE_ITEM_NUMBER)"),
        ("$(date) $HOME $$", "$$(date) $$HOME $$$$", "$$(date) $$HOME $$$$"),
    ],
)
def test_braces_stand_for_the_item_and_nothing_else_is_expanded(
    word: str, without: str, with_items: str
) -> None:
    assert container("x", word)["command"][1] == without
    assert container("x", word, items=Items([("a",)]), items_file="/items")["command"][1] == with_items


def test_the_file_of_items_is_named_on_the_pods() -> None:
    template = made("x", items=Items([("a",)]), items_file="/data/items/1")["spec"]["template"]
    assert template["metadata"]["annotations"]["longshore.dev/items"] == "/data/items/1"


def test_a_few_variables_are_passed_and_others_only_when_asked_for() -> None:
    environ = {"PATH": "/bin", "LC_ALL": "C", "SECRET": "x", "MINE": "m", "TZ": "UTC"}
    passed = container("x", environ=environ, env=["MINE", "NEW=a=b", "TZ=Asia/Tokyo", "D=$(PATH)"])["env"]
    assert {each["name"]: each["value"] for each in passed} == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "MINE": "m",
        "NEW": "a=b",
        "TZ": "Asia/Tokyo",
        "D": "$$(PATH)",
    }


def test_a_variable_that_is_not_here_is_refused() -> None:
    with pytest.raises(Failure, match="this variable is not set here; give it a value with GONE=VALUE"):
        made("x", env=["GONE"])


def test_memory_is_a_limit_and_cpu_a_request() -> None:
    assert container("x", cpu="500m", memory="1Gi")["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"memory": "1Gi"},
    }
    assert "resources" not in container("x")


@pytest.mark.parametrize(
    ("command", "name"),
    [("./Work_it.sh", "work-it-"), ("/usr/bin/python3.11", "python3-"), ("[", "run-"), ("true", "true-")],
)
def test_the_name_comes_from_the_program(command: str, name: str) -> None:
    assert made(command)["metadata"] == {"generateName": name}
    assert made(command, name="mine")["metadata"] == {"name": "mine"}
