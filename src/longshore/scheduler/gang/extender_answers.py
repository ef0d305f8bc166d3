"""Questions of a cycle to an extender, and the answers: plain data."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from longshore.api.types import Obj


class Question(NamedTuple):
    """A request to an extender."""

    url: str
    body: bytes


class Answer(msgspec.Struct, frozen=True):
    """The answer to a question, or why there is none."""

    said: Obj = msgspec.field(default_factory=dict)
    problem: str = ""
