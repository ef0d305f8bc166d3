"""Every manifest under examples/ runs as real processes, in one `longshore run`, and ends as it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.longshore_command import Command
from support.places import ROOT

EXAMPLES = ROOT / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))
MEANT_TO_FAIL = {
    "failure-policy-job.yaml": ("PodFailurePolicy", 0),
    "backoff-per-index-job.yaml": ("FailedIndexes", 5),
    "deadline-job.yaml": ("DeadlineExceeded", 0),
}
"""By file: the reason, and how many completions there are all the same."""
COMPLETIONS = {"success-policy-job.yaml": 1, "work-queue-job.yaml": 3}
"""Where it is not what the manifest says: a policy ends it early, or it says nothing."""

pytestmark = pytest.mark.xdist_group("examples")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Any:
    command = Command(tmp_path_factory.mktemp("examples"))
    done = command("run", *map(str, FILES), "-o", "json", "--timeout", "60s", timeout=100)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_there_are_examples_of_every_pattern() -> None:
    assert len(FILES) >= 15


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_example_says_what_it_shows(file: Path) -> None:
    first = file.read_text().splitlines()[0]
    assert first.startswith("# ")
    assert len(first) > 40


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_example_ends_as_meant(file: Path, result: dict[str, Any]) -> None:
    run = _run_of(file, result)
    if file.name in MEANT_TO_FAIL:
        reason, succeeded = MEANT_TO_FAIL[file.name]
        assert (run["result"], run["reason"], run["succeeded"]) == ("failed", reason, succeeded), run
    else:
        assert run["result"] == "complete", run
        assert run["succeeded"] == COMPLETIONS.get(file.name, run["completions"])


def test_all_together_fail_because_some_are_meant_to(result: dict[str, Any]) -> None:
    assert (result["result"], result["exitCode"]) == ("failed", 1)
    assert len(result["runs"]) == len(FILES)


def test_what_does_not_end_is_named(result: dict[str, Any]) -> None:
    assert any("cronjob/nightly has no end: it is run once" in note for note in result["notes"])
    assert any("job/suspended is suspended" in note for note in result["notes"])


def _run_of(file: Path, result: dict[str, Any]) -> dict[str, Any]:
    import yaml

    documents = [each for each in yaml.safe_load_all(file.read_text()) if each]
    name = next(each["metadata"]["name"] for each in documents if each["kind"] in ("Job", "Pod", "CronJob"))
    found = [run for run in result["runs"] if run["name"] == name or run["name"].startswith(f"{name}-run-")]
    assert len(found) == 1, f"{name} among {[run['name'] for run in result['runs']]}"
    return dict(found[0])
