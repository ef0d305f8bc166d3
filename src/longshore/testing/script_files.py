"""Scripts in YAML or JSON, for `longshore up --scripted` and the door for other languages.

    clock: virtual            # or real
    seed: 1
    default: {exit: 0, after: 1m}
    pods:
    - name: worker-*          # also: namespace, labels, image, job, index, container
      runs:
      - {exit: 1, after: 3s, logs: "no such table"}
      - {after: 10s..60s}
    - {name: leak, runs: [{oom: true, after: 2m}]}

A run has one end: `exit` (0 without any), `signal`, `oom: true`, `forever: true`, `bad-image: true`,
`missing-config: NAME` or `chance: [[WEIGHT, RUN], …]`; and may have `after`, `logs`, `message`,
`ready-after`, `on-term` (a duration, or `never`). Refuses what it does not know, by field and value.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from longshore.testing.pod_outcomes import Chance, Outcome, Run, number_of
from longshore.testing.scripts import Rule
from longshore.testing.settings import Settings

_ENDS: Final = ("exit", "signal", "oom", "forever", "bad-image", "missing-config", "chance")
_MORE: Final = ("after", "logs", "message", "ready-after", "on-term")
_SETTINGS: Final = Settings.__struct_fields__
_MATCHES: Final = ("name", "namespace", "labels", "image", "job", "index", "container")


class ScriptFile(msgspec.Struct, frozen=True):
    """The content of a file."""

    settings: Settings
    default: Outcome
    rules: tuple[Rule, ...]


def read(path: Path) -> ScriptFile:
    """Reads a file. ValueError with the field, the value and the rule; OSError where it cannot be read."""
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as err:
        raise ValueError(f"{path} is no YAML: {err}") from None
    return script_of(document)


def script_of(document: Any) -> ScriptFile:
    found = _mapping("the script", document, (*_SETTINGS, "default", "pods"))
    settings = Settings(**{key: found[key] for key in _SETTINGS if key in found})
    rows = found.get("pods") or []
    if not isinstance(rows, list):
        raise ValueError(f"pods: must be a list of rules, not {rows!r}")
    rules = tuple(rule_of(row, f"pods[{at}]") for at, row in enumerate(rows))
    return ScriptFile(settings, outcome_of(found.get("default") or {}, "default"), rules)


def rule_of(document: Any, where: str = "the rule") -> Rule:
    """One rule: which pods, and their runs."""
    found = _mapping(where, document, (*_MATCHES, "runs"))
    runs = found.get("runs")
    if not isinstance(runs, list) or not runs:
        raise ValueError(f"{where}.runs: must be a list of at least one run, not {runs!r}")
    told = tuple(outcome_of(run, f"{where}.runs[{at}]") for at, run in enumerate(runs))
    try:
        return Rule(runs=told, **{key: found[key] for key in _MATCHES if key in found})
    except (TypeError, ValueError) as err:
        raise ValueError(f"{where}: {err}") from None


def outcome_of(document: Any, where: str = "the run") -> Outcome:
    """One run, or chances of several."""
    found = _mapping(where, document, (*_ENDS, *_MORE))
    ends = [key for key in _ENDS if key in found]
    if len(ends) > 1:
        raise ValueError(f"{where}: has {' and '.join(ends)}, and a run has one end")
    try:
        return _made(ends[0] if ends else "exit", found, where)
    except (TypeError, ValueError) as err:
        raise ValueError(f"{where}: {err}" if not str(err).startswith(where) else str(err)) from None


def _made(end: str, found: Mapping[str, Any], where: str) -> Outcome:
    if end == "chance":
        pairs = [(float(weight), outcome_of(run, f"{where}.chance")) for weight, run in found["chance"]]
        return Chance(*[(weight, run) for weight, run in pairs if isinstance(run, Run)])
    if end == "bad-image":
        return Run.bad_image()
    if end == "missing-config":
        return Run.missing_config(str(found["missing-config"]))
    on_term = found.get("on-term", 0.0)
    return Run(
        None if end == "forever" else found.get("after", 0.0),
        found.get("exit", 0),
        on_term=None if on_term == "never" else on_term,
        signal=9 if end == "oom" else number_of(found["signal"]) if end == "signal" else 0,
        reason="OOMKilled" if end == "oom" else "",
        logs=found.get("logs", ""),
        message=found.get("message", ""),
        ready_after=found.get("ready-after", 0.0),
    )


def _mapping(where: str, document: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise ValueError(f"{where}: must be a mapping, not {document!r}")
    for key in document:
        if key not in known:
            raise ValueError(f"{where}: there is no field {key!r}; there are: {', '.join(known)}")
    return document
