"""The `pattern` of a schema: whether Go accepts the expression, and whether a value matches it.

RE2 runs it: Go's package is RE2 written again, so the syntax is the same, and the time is linear in the
value, which any client may send. RE2 finds the same errors as Go and quotes the same part of the expression;
its messages are translated into Go's here. Reasons and figures: docs/decisions/regex.md.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any, Final

__all__ = ["BadPattern", "check", "matches"]

_MAX_DEPTH: Final = 1000
"""How deep groups may nest, as in Go. RE2 allows more, and then writes a line per level to standard error."""
_GO_WORDS: Final = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "pattern too large - compile failed": "expression too large",
    "trailing \\": "trailing backslash at end of expression",
}
"""RE2's messages, and Go's where they differ."""
_ESCAPE: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)


class BadPattern(ValueError):
    """Go refuses this expression. The text is Go's message."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


def check(text: str) -> None:
    """Raises BadPattern for an expression that Go refuses."""
    _expression(text)


def matches(pattern: str, text: str) -> bool:
    """Whether the expression matches anywhere in the text. True if Go refuses the expression.

    An expression is compiled with its first text: reading schemas at start does not load RE2 (3.4 ms)."""
    expression = _known(pattern)
    return expression is None or expression.search(_utf8(text)) is not None


@lru_cache(maxsize=1024)
def _known(text: str) -> Any | None:
    try:
        return _expression(text)
    except BadPattern:
        return None


def _expression(text: str) -> Any:
    if text.count("(") > _MAX_DEPTH and _depth(text) > _MAX_DEPTH:
        raise BadPattern("expression nests too deeply", text)
    import re2

    try:
        found = re2.compile(_utf8(text), _options())
    except re2.error as problem:
        raise _in_go_words(problem.args[0].decode(errors="replace"), text) from None
    if any(escape[0] == r"\C" for escape in _ESCAPE.finditer(text)):
        raise BadPattern("invalid escape sequence", r"\C")  # any byte: RE2 has it, Go has not
    return found


@cache
def _options() -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return options


def _in_go_words(message: str, text: str) -> BadPattern:
    what, _, where = message.partition(": ")
    if where in ("(?<=", "(?<!"):  # Go reads a look-behind as a group with a bad name
        group = text[text.index(where) :]
        return BadPattern("invalid named capture", group[: group.find(">") + 1] or group)
    what = _GO_WORDS.get(what, what)
    return BadPattern(what, text if what == "expression too large" else where)


def _depth(text: str) -> int:
    """An upper bound of how deep groups nest: literal parentheses are counted, too."""
    return max(accumulate((ch == "(") - (ch == ")") for ch in text))


def _utf8(text: str) -> bytes:
    """The text as RE2 reads it. RE2 accepts half a surrogate pair as a character."""
    return text.encode(errors="surrogatepass")
