"""Reads how pods go: from a file, or from annotations. Raises ValueError. Runs that were: past_runs.py.

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

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from longshore.api.facts.own_names import SIM_DURATION as DURATION
from longshore.api.facts.own_names import SIM_EXIT_CODES as EXIT_CODES
from longshore.api.types import Obj
from longshore.sim.troubles import Troubles
from longshore.testing import spreads
from longshore.testing.pod_outcomes import Chance, Outcome, Run
from longshore.testing.scripts import Rule
from longshore.testing.spreads import Exponential, LogNormal, Normal, OneOf, Spreading, Uniform

_SELECTS: Final = ("image", "index", "job", "labels", "name", "namespace")
_GOES: Final = ("attempts", "duration", "exit")
_TOP: Final = ("default", "evictions", "expect", "nodes", "pods")
_DEFAULT_SECONDS: Final = 60.0


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
    for number, each in enumerate(document.get("pods") or ()):
        rules.append(_rule(each, f"pods[{number}]"))
    nodes, evictions = document.get("nodes") or {}, document.get("evictions") or {}
    _known(nodes, ("mtbf", "repair"), "nodes")
    _known(evictions, ("mean",), "evictions")
    troubles = Troubles(
        node_mtbf=spreads.seconds(nodes.get("mtbf", 0)),
        node_repair=spreads.seconds(nodes.get("repair", 600)),
        eviction_mean=spreads.seconds(evictions.get("mean", 0)),
    )
    expect = {str(key): str(value) for key, value in (document.get("expect") or {}).items()}
    return Outcomes(tuple(rules), troubles, expect)


def _rule(each: Any, where: str) -> Rule:
    if not isinstance(each, dict):
        raise ValueError(f"{where} is not a mapping of what is meant to how it goes")
    _known(each, (*_SELECTS, *_GOES), where)
    chosen = {key: each[key] for key in _SELECTS if key in each}
    return Rule(runs=_runs({key: each[key] for key in _GOES if key in each}, where), **chosen)


def _known(found: Mapping[str, Any], names: Sequence[str], where: str) -> None:
    for key in found:
        if key not in names:
            raise ValueError(f"{where} has no {key!r}; it may have {', '.join(names)}")


def _runs(goes: Any, where: str) -> tuple[Outcome, ...]:
    if isinstance(goes, dict) and "attempts" in goes:
        return tuple(_run(each, f"{where}.attempts[{n}]") for n, each in enumerate(goes["attempts"]))
    return (_run(goes, where),)


def _run(goes: Any, where: str) -> Outcome:
    if not isinstance(goes, dict):
        raise ValueError(f"{where}: {goes!r} does not say how a pod goes; write duration and exit")
    _known(goes, _GOES, where)
    length = duration(goes.get("duration", _DEFAULT_SECONDS))
    codes = goes.get("exit", 0)
    if isinstance(codes, dict):
        return Chance(*((float(share), Run(length, int(code))) for code, share in codes.items()))
    return Run(length, int(codes))


def duration(value: Any) -> Spreading:
    """A constant, a text such as 3m±20s, a list of durations, or a distribution with its numbers."""
    if isinstance(value, list):
        return OneOf(*value)
    if not isinstance(value, dict):
        return spreads.spread(value)
    if len(value) != 1:
        raise ValueError(f"{value!r} is not one distribution: uniform, normal, lognormal, exponential")
    name, numbers = next(iter(value.items()))
    match name:
        case "uniform":
            return Uniform(numbers["from"], numbers["to"])
        case "normal":
            return Normal(numbers["mean"], numbers["deviation"])
        case "lognormal":
            return LogNormal(numbers["median"], float(numbers["sigma"]))
        case "exponential":
            return Exponential(numbers["mean"] if isinstance(numbers, dict) else numbers)
    raise ValueError(f"{name!r} is no distribution: uniform, normal, lognormal, exponential")


def annotated(pod: Obj) -> Outcome:
    """How a pod goes whose annotations say it."""
    notes = pod["metadata"].get("annotations") or {}
    length = duration(notes.get(DURATION, _DEFAULT_SECONDS))
    shares = [part.partition(":") for part in notes.get(EXIT_CODES, "0").split(",")]
    return Chance(*((float(share or 1), Run(length, int(code))) for code, _, share in shares))


def is_annotated(pod: Obj) -> bool:
    notes = pod["metadata"].get("annotations") or {}
    return DURATION in notes or EXIT_CODES in notes


def _templates(obj: Obj) -> list[Obj]:
    """The metadata of all pod templates of an object."""
    spec = obj.get("spec") or {}
    if "jobTemplate" in spec:
        spec = spec["jobTemplate"].get("spec") or {}
    tasks = spec.get("tasks")
    templates = [task.get("template") or {} for task in tasks] if tasks else [spec.get("template") or {}]
    return [template.setdefault("metadata", {}) for template in templates if "spec" in template]


def spread_annotations(obj: Obj) -> None:
    """Copies the annotations of a Job or CronJob about its simulation to its pod templates."""
    notes = {
        k: v for k, v in (obj["metadata"].get("annotations") or {}).items() if k in (DURATION, EXIT_CODES)
    }
    if notes:
        for meta in _templates(obj):
            meta["annotations"] = {**notes, **(meta.get("annotations") or {})}
