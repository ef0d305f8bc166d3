"""Flags for whoever runs longshore for months: workers, retries, retention. Wrong ones say what is right."""

from __future__ import annotations

import pytest

from longshore.api.retention import Retention
from longshore.cli.arguments import controller_flags, parsers
from longshore.cli.main import Failure
from longshore.machinery.work_limits import WorkLimits
from longshore.plane.controllers import CONTROLLERS, WORKERS


def limits(*words: str) -> WorkLimits:
    return controller_flags.work_limits_of(parsers.parser("up").parse_args(words))


def kept(*words: str) -> Retention:
    found: Retention = parsers.parser("up").parse_args(words).keep
    return found


def test_the_numbers_that_help_tells_are_the_controllers_own() -> None:
    help = "".join(parsers.parser("controllers").format_help().split())
    assert all(f"{name}={row.workers}" in help for name, row in CONTROLLERS.items() if row.workers)


def test_workers_are_set_for_all_controllers_or_for_some() -> None:
    assert limits("--workers", "7").workers == dict.fromkeys(WORKERS, 7)
    assert limits("--workers", "job=3, cronjob=4").workers == {"job": 3, "cronjob": 4}
    assert limits() == WorkLimits()


def test_retries_and_resync_are_set() -> None:
    found = limits("--retries", "max-pause=5m,rate=2,burst=20", "--resync", "10h")
    assert found == WorkLimits(resync=36000.0, max_pause=300.0, rate=2, burst=20)


def test_retention_keeps_the_defaults_of_what_is_not_named() -> None:
    assert kept("--keep", "events=50k,history-age=2160h,archive=1Gi") == Retention(
        events=50_000, history_age=2160 * 3600.0, archive=1 << 30
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workers", "nope=3"), "there is no controller 'nope'; there are: cronjob,"),
        (("--workers", "volume=3"), "controller volume looks at one object at a time"),
        (("--workers", "job=0"), "job: '0' is not a whole number from 1"),
        (("--workers", "job"), "'job' is not a whole number from 1, nor NAME=NUMBER"),
        (("--retries", "slow=1"), "'slow' is none of: max-pause, rate, burst"),
        (("--resync", "0"), "'0' must be more than 0"),
        (("--keep", "events"), "'events' is not NAME=LIMIT with one of: events, event-age,"),
        (("--keep", "events=-1"), "events: '-1' is not a number such as 5000, 20k or 256Mi"),
        (("--keep", "history-age=30d"), "history-age: '30d' is not a duration such as 90s, 12h or 720h"),
    ],
)
def test_a_wrong_limit_is_refused_with_the_rule(words: tuple[str, str], said: str) -> None:
    with pytest.raises(Failure) as refused:
        parsers.parser("up").parse_args(words)
    assert said in str(refused.value)
