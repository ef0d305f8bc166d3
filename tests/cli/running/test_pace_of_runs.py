"""`--backoff`, `--delay` and `--limit-rate`: what the Job asks for, and that its controller obeys."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest
import yaml

from longshore.cli.arguments import waiting_times
from support.longshore_command import Command


def test_the_job_carries_its_pace_as_annotations(longshore: Command) -> None:
    flags = "--backoff", "1m", "--delay", "1.5", "--limit-rate", "30/m"
    job = yaml.safe_load(longshore.ok("run", "--dry-run", *flags, "--", "true"))
    assert job["metadata"]["annotations"] == {
        "longshore.dev/retry-backoff": "1m0s",
        "longshore.dev/start-interval": "2s",
    }


@pytest.mark.parametrize(
    ("rate", "seconds"), [("10/s", 0.1), ("10", 0.1), ("30/m", 2), ("5/h", 720), (".5/s", 2)]
)
def test_a_rate_is_an_interval(rate: str, seconds: float) -> None:
    assert waiting_times.interval(rate) == seconds


@pytest.mark.parametrize("rate", ["0/s", "-1/s", "10/d", "nan", "fast", "1e9", ""])
def test_a_rate_that_is_none_is_refused(rate: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a rate: write 10/s, 30/m or 5/h"):
        waiting_times.interval(rate)


@pytest.mark.parametrize("time", ["-1s", "nan", "inf", "soon", ""])
def test_a_pause_that_is_none_is_refused(time: str) -> None:
    with pytest.raises(ArgumentTypeError):
        waiting_times.not_negative(time)


def test_starts_keep_their_distance(longshore: Command) -> None:
    starts = longshore.home / "starts"
    words = "sh", "-c", f"date +%s.%N >> {starts}"
    longshore.ok("run", "--completions", "2", "--parallelism", "2", "--delay", "1s", "--", *words)
    first, second = sorted(map(float, starts.read_text().split()))
    assert second - first >= 0.3, "the interval, less what the first process took to start"


def test_a_retry_without_back_off_follows_at_once(longshore: Command) -> None:
    """The Job controller's own first pause would be longer than the time limit."""
    words = "sh", "-c", "[ -e tried ] || { touch tried; exit 1; }"
    longshore.ok("run", "--retries", "1", "--backoff", "0", "--timeout", "9s", "--", *words)
