"""Reads how pods go from a file. Raises ValueError. Annotations: outcome_notes.py; past runs: past_runs.py.

default: {duration: 3m±20s}
pods:
  - job: report-*                                  # or name, labels, image, index, namespace
    duration: {lognormal: {median: 5m, sigma: 0.4}}
    exit: {0: 0.95, 1: 0.05}
  - name: flaky
    attempts: [{duration: 10s, exit: 1}, {duration: 1m}]
nodes: {mtbf: 30d, repair: 10m}
evictions: {mean: 12h}
expect:
  job/report: done before 06:00
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from longshore.sim.troubles import Troubles
from longshore.testing import spreads
from longshore.testing.pod_outcomes import Chance, Outcome, Run
from longshore.testing.scripts import Rule
from longshore.testing.spreads import Exponential, LogNormal, Normal, OneOf, Spreading, Uniform

_SELECTS: Final = ("image", "index", "job", "labels", "name", "namespace")
_GOES: Final = ("attempts", "duration", "exit")
_TOP: Final = ("default", "evictions", "expect", "nodes", "pods")
DEFAULT_SECONDS: Final = 60.0
_MAX_EXIT_CODE: Final = 255
_MAX_SIGMA: Final = 10
"""A median of a second has one run of twenty over five months then; far larger ones are no numbers."""


class Outcomes(msgspec.Struct, frozen=True):
    """The content of an outcome file."""

    rules: tuple[Rule, ...] = ()
    troubles: Troubles = Troubles()
    expect: Mapping[str, str] = {}


def read(document: Any) -> Outcomes:
    """The outcomes in a decoded YAML document."""
    if not isinstance(document, dict):
        raise ValueError("an outcome file is a mapping with pods, nodes, evictions, expect")
    _known(document, _TOP, "the file")
    rules = []
    if "default" in document:
        rules.append(Rule("*", _runs(document["default"], "default")))
    pods = document.get("pods") or []
    if not isinstance(pods, list):
        raise ValueError(f"pods: {pods!r} is no list of rules")
    rules += [_rule(each, f"pods[{number}]") for number, each in enumerate(pods)]
    nodes, evictions = _mapping(document, "nodes"), _mapping(document, "evictions")
    _known(nodes, ("mtbf", "repair"), "nodes")
    _known(evictions, ("mean",), "evictions")
    troubles = Troubles(
        node_mtbf=_seconds(nodes.get("mtbf", 0), "nodes.mtbf"),
        node_repair=_seconds(nodes.get("repair", 600), "nodes.repair"),
        eviction_mean=_seconds(evictions.get("mean", 0), "evictions.mean"),
    )
    expect = {str(key): str(value) for key, value in _mapping(document, "expect").items()}
    return Outcomes(tuple(rules), troubles, expect)


def _mapping(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name) or {}
    if not isinstance(found, dict):
        raise ValueError(f"{name}: {found!r} is no mapping")
    return found


def _rule(each: Any, where: str) -> Rule:
    if not isinstance(each, dict):
        raise ValueError(f"{where} is not a mapping of what is meant to how it goes")
    _known(each, (*_SELECTS, *_GOES), where)
    chosen = {key: _selecting(key, each[key], f"{where}.{key}") for key in _SELECTS if key in each}
    runs = _runs({key: each[key] for key in _GOES if key in each}, where)
    try:
        return Rule(runs=runs, **chosen)
    except ValueError as err:
        raise ValueError(f"{where}: {err}") from None


def _selecting(key: str, value: Any, where: str) -> Any:
    if key == "index":
        if type(value) is not int or value < 0:
            raise ValueError(f"{where}: {value!r} is no index: write a whole number of 0 or more")
    elif not isinstance(value, str):
        raise ValueError(f"{where}: {value!r} is no text: quote it")
    return value


def _known(found: Mapping[str, Any], names: Sequence[str], where: str) -> None:
    for key in found:
        if key not in names:
            raise ValueError(f"{where} has no {key!r}; it may have {', '.join(names)}")


def _runs(goes: Any, where: str) -> tuple[Outcome, ...]:
    if not isinstance(goes, dict):
        raise _says_nothing(goes, where)
    _known(goes, _GOES, where)
    if "attempts" not in goes:
        return (_run(goes, where),)
    attempts = goes["attempts"]
    if not isinstance(attempts, list) or not attempts:
        raise ValueError(f"{where}.attempts: {attempts!r} is no list of at least one attempt")
    others = {key: value for key, value in goes.items() if key != "attempts"}
    return tuple(_run(each, f"{where}.attempts[{number}]", others) for number, each in enumerate(attempts))


def _run(goes: Any, where: str, others: Mapping[str, Any] = {}) -> Outcome:
    """One run; what it does not say is as in `others`."""
    if not isinstance(goes, dict):
        raise _says_nothing(goes, where)
    _known(goes, ("duration", "exit"), where)
    goes = {**others, **goes}
    try:
        length = duration(goes.get("duration", DEFAULT_SECONDS))
    except ValueError as err:
        raise ValueError(f"{where}.duration: {err}") from None
    try:
        return ending(length, goes.get("exit", 0))
    except ValueError as err:
        raise ValueError(f"{where}.exit: {err}") from None


def _says_nothing(goes: Any, where: str) -> ValueError:
    return ValueError(f"{where}: {goes!r} does not say how a pod goes; write duration and exit")


def ending(length: Spreading, codes: Any) -> Outcome:
    """A run that ends with a code, or with one of several by their shares."""
    if not isinstance(codes, dict):
        return Run(length, _code(codes))
    shares = {_code(code): _number(share, "share") for code, share in codes.items()}
    if not any(shares.values()):
        raise ValueError(f"{codes!r} has no exit code with a share of more than 0")
    return Chance(*((share, Run(length, code)) for code, share in shares.items()))


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


def _seconds(value: Any, where: str) -> float:
    try:
        return _finite(value)
    except ValueError as err:
        raise ValueError(f"{where}: {err}") from None


def _finite(value: Any) -> float:
    found = spreads.seconds(value)
    if math.isinf(found):
        raise ValueError(f"{value!r} is not a duration: it never ends")
    return found


def duration(value: Any) -> Spreading:
    """A constant, a text such as 3m±20s, a list of durations, or a distribution with its numbers."""
    if isinstance(value, list):
        return OneOf(*map(_finite, value))
    if isinstance(value, str):
        return spreads.spread(value)
    if not isinstance(value, dict):
        return _finite(value)
    if len(value) != 1:
        raise ValueError(f"{value!r} is not one distribution: uniform, normal, lognormal, exponential")
    name, numbers = next(iter(value.items()))
    match name:
        case "uniform":
            low, high = _parts(name, numbers, "from", "to")
            return Uniform(_finite(low), _finite(high))
        case "normal":
            mean, deviation = _parts(name, numbers, "mean", "deviation")
            return Normal(_finite(mean), _finite(deviation))
        case "lognormal":
            median, sigma = _parts(name, numbers, "median", "sigma")
            return LogNormal(_finite(median), _number(sigma, "sigma", _MAX_SIGMA))
        case "exponential":
            (mean,) = _parts(name, numbers, "mean") if isinstance(numbers, dict) else (numbers,)
            return Exponential(_finite(mean))
    raise ValueError(f"{name!r} is no distribution: uniform, normal, lognormal, exponential")


def _parts(name: str, numbers: Any, *wanted: str) -> list[Any]:
    """The numbers of a distribution, in the order in which they are wanted."""
    if not isinstance(numbers, dict) or {*numbers} != {*wanted}:
        raise ValueError(f"{numbers!r} is not what {name} needs: {' and '.join(wanted)}")
    return [numbers[each] for each in wanted]
