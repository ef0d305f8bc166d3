r"""Regular expressions as Go writes them, for Python's engine.

Go's `$` never matches before a final line break, its classes `\d \w \s` are ASCII, it has POSIX
classes, and it has neither look-around nor back references, which are refused here as Kubernetes
refuses them. An expression that Go takes and this translation cannot express (`\p{Greek}`) is accepted
and not checked.

Python's engine may need exponential time for a malicious expression, which Go's never does. Definitions
are written by administrators, so this is accepted.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Final

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_MAX_REPEAT: Final = 1000  # Go's limit
_UNSUPPORTED: Final = re.compile(
    r"\\x\{[0-9a-fA-F]+\}|\\.|\(\?(?:<?[=!]|>|\(|#)|\(\?P[=>]|\{(\d+)(?:,(\d*))?\}", re.DOTALL
)
_MULTILINE: Final = re.compile(r"\(\?[a-z]*m")


class BadPattern(ValueError):
    """Go would not take this expression; the text is the one it gives."""


@lru_cache(maxsize=1024)
def compiled(text: str) -> re.Pattern[str] | None:
    """The expression, to be used with `search`; None when it cannot be checked here."""
    try:
        return _compile(text)
    except (re.error, OverflowError, RecursionError):
        return None


def check(text: str) -> None:
    """Raises BadPattern for an expression that Go refuses."""
    for match in _UNSUPPORTED.finditer(text):
        found = match[0]
        if found.startswith("(?"):
            raise BadPattern(f"error parsing regexp: invalid or unsupported Perl syntax: `{found}`")
        if found.startswith("\\") and found[1:] in "123456789":
            raise BadPattern(f"error parsing regexp: invalid escape sequence: `{found}`")
        if any(count and int(count) > _MAX_REPEAT for count in match.groups()):
            raise BadPattern(f"error parsing regexp: invalid repeat count: `{found}`")
    try:
        _compile(text)
    except re.error as error:
        if (wrong := _in_go_words(error, text)) is not None:
            raise BadPattern(f"error parsing regexp: {wrong}") from None
    except (OverflowError, RecursionError):
        raise BadPattern(f"error parsing regexp: expression nests too deeply: `{text}`") from None


def _compile(text: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        # Python warns of character classes that may mean something else one day.
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(_translated(text), re.ASCII)


def _in_go_words(error: re.error, text: str) -> str | None:
    """What Go says of the same mistake; None for what is a mistake to Python alone."""
    message = error.msg
    at = error.pos or 0
    if message.startswith("missing )"):
        return f"missing closing ): `{text}`"
    if message.startswith("unbalanced parenthesis"):
        return f"unexpected ): `{text}`"
    if message.startswith("unterminated character set"):
        return f"missing closing ]: `{text[at:]}`"
    if message.startswith("nothing to repeat"):
        return f"missing argument to repetition operator: `{text[at : at + 1]}`"
    if message.startswith("multiple repeat"):
        return f"invalid nested repetition operator: `{text[max(at - 1, 0) : at + 1]}`"
    if message.startswith("bad character range"):
        return f"invalid character class range: `{message.removeprefix('bad character range ')}`"
    if message.startswith("bad escape (end of pattern)"):
        return "trailing backslash at end of expression: ``"
    return None


def _translated(text: str) -> str:
    end = "$" if _MULTILINE.search(text) else r"\Z"
    out: list[str] = []
    at = 0
    while at < len(text):
        ch = text[at]
        if ch == "\\":
            out.append(_escape(text[at : at + 2]))
            at += 2
        elif ch == "[":
            inside, at = _class(text, at + 1)
            out.append(inside)
        elif text.startswith("(?<", at) and text[at + 3 : at + 4] not in ("=", "!"):
            out.append("(?P<")
            at += 3
        else:
            out.append(end if ch == "$" else ch)
            at += 1
    return "".join(out)


def _class(text: str, at: int) -> tuple[str, int]:
    """A character class from behind its bracket; where it ends."""
    out = ["["]
    if text[at : at + 1] == "^":
        out.append("^")
        at += 1
    if text[at : at + 1] == "]":
        out.append("\\]")
        at += 1
    while at < len(text):
        ch = text[at]
        if ch == "]":
            return "".join(out) + "]", at + 1
        if ch == "\\":
            out.append(_escape(text[at : at + 2]))
            at += 2
        elif text.startswith("[:", at) and (close := text.find(":]", at)) > 0:
            name = text[at + 2 : close]
            if name not in _POSIX:
                raise re.error(f"[:{name}:] has no counterpart")
            out.append(_POSIX[name])
            at = close + 2
        else:
            out.append("\\[" if ch == "[" else ch)
            at += 1
    raise re.error("unterminated character set", text, len(text))


def _escape(token: str) -> str:
    if token == r"\z":
        return r"\Z"
    if token in (r"\p", r"\P", r"\Q", r"\C", r"\Z"):
        raise re.error(f"{token} has no counterpart")
    return token
