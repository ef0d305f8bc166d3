"""`longshore.testing` for people who test code: every public method of a cluster, from its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from handbook.reference.markdown import page
from longshore import testing
from longshore.testing import (
    cluster_clock,
    cluster_pods,
    injected_faults,
    scripted_answers,
    seen_requests,
    settings,
)

_OPENING = (
    "The fixture `longshore` is a `Cluster`. Durations are texts (`90s`, `1h30m`, `2d`) or numbers of "
    "seconds; objects are named as people do: `job/x`, `cronjob/y`, `vcjob/z`, with `namespace=` where it is "
    "not `default`."
)
PARTS = (
    ("Cluster", testing.Cluster),
    ("Options: the marker and Cluster(…)", settings.ClusterSettings),
    ("c.clock", cluster_clock.ClusterClock),
    ("c.pods", cluster_pods.ClusterPods),
    ('c.pods["name"]', cluster_pods.PodHandle),
    ("c.faults", injected_faults.ClusterFaults),
    ("c.answers", scripted_answers.ClusterAnswers),
    ("c.requests", seen_requests.SeenRequests),
    ("Run", testing.Run),
    ("Rule: which pods a script means", testing.Rule),
)
"""The titles of the page, each with its class."""


def text() -> str:
    return page("Testing", _OPENING, *(_part(title, cls) for title, cls in PARTS), _functions())


def _part(title: str, cls: type) -> str:
    lines = [f"## {title}", _said(cls), *(_entry(name, member) for name, member in members(cls))]
    return "\n\n".join(line for line in lines if line)


def members(cls: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties, in the order of the source, and fields with their docstrings."""
    for name, member in vars(cls).items():
        if not name.startswith("_") and inspect.getdoc(member) and not inspect.ismemberdescriptor(member):
            yield name, member


def _entry(name: str, member: object) -> str:
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    shown = _signature(member) if callable(member) else ""
    return f"**`{name}{shown}`**\n: {_said(member)}"


def _signature(member: object) -> str:
    assert callable(member)
    found = inspect.signature(member)
    parameters = [each for each in found.parameters.values() if each.name not in ("self", "cls")]
    return str(found.replace(parameters=parameters)).replace("'", "")


def _said(member: object) -> str:
    return " ".join((inspect.getdoc(member) or "").split())


def _functions() -> str:
    names = ("Exit", "Exec", "Chance", "Uniform", "Normal", "LogNormal", "Exponential", "OneOf")
    entries = [f"**`{name}`**\n: {_said(getattr(testing, name))}" for name in names]
    return "\n\n".join(["## Ends and spreads", *entries])
