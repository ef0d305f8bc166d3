"""Reads how pods go: from a file, from annotations, from runs that really were. Raises ValueError.

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
from longshore.api.time import rfc3339
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


def annotation_rules(objects: Sequence[Obj]) -> list[Rule]:
    """A rule where any manifest has such annotations."""
    found = [notes for obj in objects for notes in _templates(obj)]
    uses = any(
        DURATION in (meta.get("annotations") or {}) or EXIT_CODES in (meta.get("annotations") or {})
        for meta in found
    )
    return [Rule("*", (annotated,))] if uses else []


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


def from_history(items: Sequence[Obj]) -> list[Rule]:
    """Rules by what really ran: pods (`longshore get pods -o json`) or runs (`longshore history -o json`)."""
    lengths: dict[str, list[float]] = {}
    codes: dict[str, list[int]] = {}
    for item in items:
        name, seconds, code = _lasted(item)
        if name and seconds is not None:
            lengths.setdefault(name, []).append(seconds)
            codes.setdefault(name, []).append(code)
    return [
        Rule(
            job=f"{name}*",
            runs=(
                Chance(
                    *(
                        (float(codes[name].count(code)), Run(OneOf(*found), code))
                        for code in sorted(set(codes[name]))
                    )
                ),
            ),
        )
        for name, found in sorted(lengths.items())
    ]


def _lasted(item: Obj) -> tuple[str, float | None, int]:
    """The Job that is meant, the seconds a run of it took, and its exit code."""
    statuses = (
        (item.get("status") or {}).get("containerStatuses") if isinstance(item.get("status"), dict) else None
    )
    if statuses:
        end = (statuses[0].get("state") or {}).get("terminated") or {}
        labels = item["metadata"].get("labels") or {}
        name = labels.get("batch.kubernetes.io/job-name") or labels.get("volcano.sh/job-name") or ""
        if end.get("startedAt") and end.get("finishedAt"):
            return (
                name,
                rfc3339.seconds(end["finishedAt"]) - rfc3339.seconds(end["startedAt"]),
                end["exitCode"],
            )
        return name, None, 0
    begun, ended = item.get("startTime") or item.get("started"), item.get("endTime") or item.get("ended")
    name = item.get("job") or item.get("name") or ""
    if not (isinstance(begun, str) and isinstance(ended, str)):
        return name, None, 0
    return name, rfc3339.seconds(ended) - rfc3339.seconds(begun), 0 if item.get("result") == "complete" else 1
