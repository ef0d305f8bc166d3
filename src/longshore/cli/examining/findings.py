"""Findings of `longshore doctor`: the thing, its state, a sentence, and the command that helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

State = Literal["ok", "limited", "broken", "absent"]
"""`limited`: longshore works, with less; `broken`: it does not work; `absent`: not there, and not needed."""


class Finding(NamedTuple):
    what: str
    state: State
    text: str
    help: str = ""
    """A command that repairs it, or a sentence that says how."""


def is_broken(findings: Sequence[Finding]) -> bool:
    return any(finding.state == "broken" for finding in findings)


def lines(findings: Sequence[Finding]) -> str:
    """One line for each finding, and one more if it has help."""
    width = max(len(finding.what) for finding in findings)
    out = []
    for finding in findings:
        out.append(f"{finding.state:<8} {finding.what:<{width}}  {finding.text}\n")
        if finding.help:
            out.append(f"{'':<8} {'':<{width}}  help: {finding.help}\n")
    return "".join(out)
