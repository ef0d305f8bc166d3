"""The `pattern` of a schema: is it an expression that Go takes, and does a value match it?

A class that Python cannot tell (`\\p{Greek}`) makes an expression that is accepted and not checked.
"""

from __future__ import annotations

from functools import lru_cache

from longshore.api.structural.regex import syntax
from longshore.api.structural.regex.automaton import Automaton, TooLarge
from longshore.api.structural.regex.syntax import BadPattern

__all__ = ["BadPattern", "check", "compiled"]


@lru_cache(maxsize=1024)
def compiled(text: str) -> Automaton | None:
    """The expression, to be used with `search`; None when it cannot be checked here."""
    try:
        return _automaton(text)
    except BadPattern:
        return None


def check(text: str) -> None:
    """Raises BadPattern for an expression that Go refuses."""
    _automaton(text)


def _automaton(text: str) -> Automaton | None:
    try:
        return Automaton(syntax.read(text))
    except syntax.UnknownClass:
        return None
    except TooLarge:
        raise BadPattern("expression too large", text) from None
