"""Reads how pods go from YAML or JSON: the files of `longshore sim --outcomes` and `longshore up --scripted`.

    default: {duration: 3m±20s}
    pods:
    - job: report-*           # also: name, namespace, labels, image, index, container
      duration: {lognormal: {median: 5m, sigma: 0.4}}
      exit: {0: 0.95, 1: 0.05}
    - name: worker-*
      runs:
      - {exit: 1, after: 3s, logs: "no such table"}
      - {after: 10s..60s}
    - {name: leak, oom: true, after: 2m}

A rule has the words of one run, or a list of runs, one for each attempt (`runs`, `attempts`); a run takes the
words that it leaves out from beside the list. A run has one end: `exit` (a code, or codes with their shares;
0 without any), `signal`, `oom: true`, `forever: true`, `bad-image: true`, `missing-config: NAME` or
`chance: [[WEIGHT, RUN], …]`; and may have `after` (or `duration`), `logs`, `message`, `ready-after`,
`on-term` (a duration, or `never`). Everything else is a ValueError with field, value and rule.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from longshore.scripts import spreads
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import OOM_REASON, Chance, Outcome, Run, number_of
from longshore.scripts.spreads import Exponential, LogNormal, Normal, OneOf, Spreading, Uniform

_SELECTS: Final = ("name", "namespace", "labels", "image", "job", "index", "container")
_ATTEMPTS: Final = ("attempts", "runs")
_ENDS: Final = ("exit", "signal", "oom", "forever", "bad-image", "missing-config", "chance")
_LENGTHS: Final = ("after", "duration")
_MORE: Final = (*_LENGTHS, "logs", "message", "ready-after", "on-term")
_MAX_EXIT_CODE: Final = 255
_MAX_SIGMA: Final = 10
"""With this sigma and a median of 1 s, one run of twenty takes over five months. Larger ones overflow."""

_Found = TypeVar("_Found")


class Script(msgspec.Struct, frozen=True):
    """The rules of a document."""

    rules: tuple[Rule, ...] = ()
    default: Rule | None = None


def script_of(document: Mapping[str, Any], seconds: float = 0.0) -> Script:
    """The rules in `pods` and `default`. A run without a duration takes `seconds`."""
    pods = document.get("pods") or []
    if not isinstance(pods, list):
        raise ValueError(f"pods: {pods!r} is no list of rules")
    rules = tuple(rule_of(each, f"pods[{number}]", seconds) for number, each in enumerate(pods))
    if "default" not in document:
        return Script(rules)
    return Script(rules, Rule(runs=_runs(document["default"] or {}, "default", seconds)))


def rule_of(document: Any, where: str = "the rule", seconds: float = 0.0) -> Rule:
    """One rule: which pods, and their runs."""
    found = mapping(document, where, (*_SELECTS, *_ATTEMPTS, *_ENDS, *_MORE))
    selects = {key: _selector(key, found[key], f"{where}.{key}") for key in _SELECTS if key in found}
    goes = {key: value for key, value in found.items() if key not in _SELECTS}
    runs = _runs(goes, where, seconds)
    return _at(where, lambda: Rule(runs=runs, **selects))


def mapping(document: Any, where: str, known: Sequence[str]) -> dict[str, Any]:
    """The document, if it is a mapping with no other keys than the known ones."""
    if not isinstance(document, dict):
        raise ValueError(f"{where}: {document!r} is no mapping")
    for key in document:
        if key not in known:
            raise ValueError(f"{where}: there is no field {key!r}; there are: {', '.join(known)}")
    return document


def _at(where: str, make: Callable[[], _Found]) -> _Found:
    """The result of `make`; its ValueError names the place."""
    try:
        return make()
    except ValueError as err:
        raise ValueError(f"{where}: {err}") from None


def _selector(key: str, value: Any, where: str) -> Any:
    if key == "index":
        if type(value) is not int or value < 0:
            raise ValueError(f"{where}: {value!r} is no index: write a whole number of 0 or more")
    elif not isinstance(value, str):
        raise ValueError(f"{where}: {value!r} is no text: quote it")
    return value


def _runs(document: Any, where: str, seconds: float) -> tuple[Outcome, ...]:
    goes = mapping(document, where, (*_ATTEMPTS, *_ENDS, *_MORE))
    for key in _ATTEMPTS:
        if key in goes:
            each = goes[key]
            if not isinstance(each, list) or not each:
                raise ValueError(
                    f"{where}.{key}: {each!r} is no list of at least one {key.removesuffix('s')}"
                )
            beside = {name: value for name, value in goes.items() if name not in _ATTEMPTS}
            return tuple(
                run_of(one, f"{where}.{key}[{number}]", seconds, beside) for number, one in enumerate(each)
            )
    return (run_of(goes, where, seconds),)


def run_of(
    document: Any, where: str = "the run", seconds: float = 0.0, beside: Mapping[str, Any] = {}
) -> Outcome:
    """Reads one run, or chances of several. Keys that it lacks are taken from `beside`."""
    found = mapping(document, where, (*_ENDS, *_MORE))
    for group in (_ENDS, _LENGTHS):
        if any(key in found for key in group):
            beside = {key: value for key, value in beside.items() if key not in group}
    found = {**beside, **found}
    ends = [key for key in _ENDS if key in found]
    if len(ends) > 1:
        raise ValueError(f"{where}: has {' and '.join(ends)}, and a run has one end")
    end = ends[0] if ends else "exit"
    if end == "chance":
        return _at(f"{where}.chance", lambda: _chance(found["chance"], f"{where}.chance", seconds))
    if end == "bad-image":
        return Run.bad_image()
    if end == "missing-config":
        return Run.missing_config(str(found["missing-config"]))
    length: Spreading | None = seconds
    for key in _LENGTHS:
        if key in found:
            length = _at(f"{where}.{key}", lambda key=key: duration(found[key]))  # type: ignore[misc] # bound now
    on_term = found.get("on-term", 0.0)
    plain = _at(
        where,
        lambda: Run(
            None if end == "forever" else length,
            on_term=None if on_term == "never" else on_term,
            signal=9 if end == "oom" else number_of(found["signal"]) if end == "signal" else 0,
            reason=OOM_REASON if end == "oom" else "",
            logs=_text(found, "logs"),
            message=_text(found, "message"),
            ready_after=duration(found.get("ready-after", 0.0)),
        ),
    )
    return _at(f"{where}.exit", lambda: ending(plain, found["exit"])) if "exit" in found else plain


def _text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key}: {value!r} is no text: quote it")
    return value


def _chance(pairs: Any, where: str, seconds: float) -> Chance:
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"{pairs!r} is no list of pairs of a weight and a run")
    runs = [(_number(weight, "weight"), run_of(run, where, seconds)) for weight, run in pairs]
    return Chance(*[(weight, run) for weight, run in runs if isinstance(run, Run)])


def ending(run: Run, codes: Any) -> Outcome:
    """The run with an exit code, or with one of several by their shares."""
    if not isinstance(codes, dict):
        return msgspec.structs.replace(run, code=_code(codes))
    shares = {_code(code): _number(share, "share") for code, share in codes.items()}
    if not any(shares.values()):
        raise ValueError(f"{codes!r} has no exit code with a share of more than 0")
    return Chance(*((share, msgspec.structs.replace(run, code=code)) for code, share in shares.items()))


def _code(value: Any) -> int:
    is_whole = type(value) is int or (isinstance(value, str) and value.strip().isdecimal())
    if not is_whole or not 0 <= int(value) <= _MAX_EXIT_CODE:
        raise ValueError(f"{value!r} is no exit code: write a whole number from 0 to {_MAX_EXIT_CODE}")
    return int(value)


def _number(value: Any, what: str, most: float = sys.float_info.max) -> float:
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not 0 <= found <= most:
        limit = "" if most == sys.float_info.max else f", and at most {most:g}"
        raise ValueError(f"{value!r} is no {what}: write a number of 0 or more{limit}")
    return found


def seconds_of(value: Any) -> float:
    """The seconds of a duration. Raises ValueError for one that never ends."""
    found = spreads.seconds(value)
    if math.isinf(found):
        raise ValueError(f"{value!r} is not a duration: it never ends")
    return found


def duration(value: Any) -> Spreading:
    """A constant, a text such as 3m±20s, a list of durations, or a distribution with its numbers."""
    if isinstance(value, list):
        return OneOf(*map(seconds_of, value))
    if isinstance(value, str):
        return spreads.spread(value)
    if not isinstance(value, dict):
        return seconds_of(value)
    if len(value) != 1:
        raise ValueError(f"{value!r} is not one distribution: uniform, normal, lognormal, exponential")
    name, numbers = next(iter(value.items()))
    match name:
        case "uniform":
            low, high = _parts(name, numbers, "from", "to")
            return Uniform(seconds_of(low), seconds_of(high))
        case "normal":
            mean, deviation = _parts(name, numbers, "mean", "deviation")
            return Normal(seconds_of(mean), seconds_of(deviation))
        case "lognormal":
            median, sigma = _parts(name, numbers, "median", "sigma")
            return LogNormal(seconds_of(median), _number(sigma, "sigma", _MAX_SIGMA))
        case "exponential":
            (mean,) = _parts(name, numbers, "mean") if isinstance(numbers, dict) else (numbers,)
            return Exponential(seconds_of(mean))
    raise ValueError(f"{name!r} is no distribution: uniform, normal, lognormal, exponential")


def _parts(name: str, numbers: Any, *wanted: str) -> list[Any]:
    """The numbers of a distribution, in the order in which they are wanted."""
    if not isinstance(numbers, dict) or {*numbers} != {*wanted}:
        raise ValueError(f"{numbers!r} is not what {name} needs: {' and '.join(wanted)}")
    return [numbers[each] for each in wanted]
