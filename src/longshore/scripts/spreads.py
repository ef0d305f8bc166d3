"""Durations as people write them, and spreads from which durations are drawn.

| text | means |
| --- | --- |
| `90s`, `1h30m`, `2d`, `1w` | so long; a number is seconds |
| `10s..60s` | anything between, each as likely |
| `3m±20s` (or `3m+-20s`) | normal: mean and standard deviation, never below 0 |

`Uniform`, `Normal`, `LogNormal`, `Exponential` and `OneOf` say it in code. Pure: the dice are a parameter.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, runtime_checkable

import msgspec

from longshore.api.time import durations
from longshore.api.time.rfc3339 import TimeError

_LONG_UNITS: Final = re.compile(r"(?:(\d+(?:\.\d+)?)w)?(?:(\d+(?:\.\d+)?)d)?(.*)")
_DAY_SECONDS: Final = 86400.0
_NANOS_PER_SECOND: Final = 1e9


@runtime_checkable
class Spread(Protocol):
    """A distribution of seconds."""

    def draw(self, rng: random.Random) -> float:
        """One value, 0 or more."""


Duration: TypeAlias = float | str
"""Seconds, or a text such as `1h30m`."""
Spreading: TypeAlias = float | str | Spread
"""A duration, or a spread of them; a text may be either."""


def seconds(value: Duration) -> float:
    """The seconds of one duration. Raises ValueError with the value and the rule."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a duration: write a number of seconds, or a text such as 90s")
    if isinstance(value, str):
        return _parsed(value)
    if math.isnan(value) or value < 0:
        raise ValueError(f"{value!r} is not a duration: it must be 0 or more seconds")
    return float(value)


def _parsed(text: str) -> float:
    found = _LONG_UNITS.fullmatch(text.strip())
    assert found is not None, "the last group takes anything"
    weeks, days, rest = found.groups()
    try:
        nanos = durations.parse(rest) if rest or not (weeks or days) else 0
    except TimeError:
        nanos = -1
    if nanos < 0:
        raise ValueError(f"{text!r} is not a duration: write 300ms, 90s, 1h30m or 2d") from None
    return (float(weeks or 0) * 7 + float(days or 0)) * _DAY_SECONDS + nanos / _NANOS_PER_SECOND


def spread(value: Spreading) -> float | Spread:
    """Seconds, or a spread of them. Raises ValueError."""
    if isinstance(value, str):
        for mark, make in (("..", Uniform), ("±", Normal), ("+-", Normal)):
            first, found, second = value.partition(mark)
            if found:
                return make(first, second)
        return _parsed(value)
    return seconds(value) if isinstance(value, int | float) else value


def drawn(value: float | Spread, rng: random.Random) -> float:
    """The number itself, or a number drawn from the spread."""
    return value if isinstance(value, float) else value.draw(rng)


class Uniform(msgspec.Struct, frozen=True):
    """Anything between two durations, each as likely."""

    low: Duration
    high: Duration

    def __post_init__(self) -> None:
        if seconds(self.low) > seconds(self.high):
            raise ValueError(f"Uniform({self.low!r}, {self.high!r}): the first must not be the longer one")

    def draw(self, rng: random.Random) -> float:
        return rng.uniform(seconds(self.low), seconds(self.high))


class Normal(msgspec.Struct, frozen=True):
    """Around a mean, with a standard deviation; never below 0."""

    mean: Duration
    deviation: Duration

    def __post_init__(self) -> None:
        seconds(self.mean), seconds(self.deviation)

    def draw(self, rng: random.Random) -> float:
        return max(rng.gauss(seconds(self.mean), seconds(self.deviation)), 0.0)


class LogNormal(msgspec.Struct, frozen=True):
    """Around a median, with a long tail: `sigma` 0.5 has one in twenty over 2.3 times the median."""

    median: Duration
    sigma: float

    def __post_init__(self) -> None:
        if not seconds(self.median):
            raise ValueError("LogNormal: the median must be more than 0 seconds")

    def draw(self, rng: random.Random) -> float:
        return rng.lognormvariate(math.log(seconds(self.median)), self.sigma)


class Exponential(msgspec.Struct, frozen=True):
    """Memoryless: half of the runs end before 0.69 of the mean."""

    mean: Duration

    def __post_init__(self) -> None:
        if not seconds(self.mean):
            raise ValueError("Exponential: the mean must be more than 0 seconds")

    def draw(self, rng: random.Random) -> float:
        return rng.expovariate(1 / seconds(self.mean))


@dataclass(frozen=True, init=False)
class OneOf:
    """One of these durations, such as those of past runs. Each is as likely."""

    values: tuple[Duration, ...]

    def __init__(self, *values: Duration) -> None:
        if not values:
            raise ValueError("OneOf needs at least one duration")
        for value in values:
            seconds(value)
        object.__setattr__(self, "values", values)

    def draw(self, rng: random.Random) -> float:
        return seconds(rng.choice(self.values))
