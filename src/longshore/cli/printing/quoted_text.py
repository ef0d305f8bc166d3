r"""Text in quotes inside a template, by Go's rules: `"\n"`, `'\''`, `"\u00e9"`."""

from __future__ import annotations

import re
from typing import Final

from longshore.cli.main import Said

_QUOTED: Final = re.compile(r"\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'")
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([abfnrtv\\'\"])|(?s:.))"
)
_LETTERS: Final = dict(zip("abfnrtv\\", "\a\b\f\n\r\t\v\\", strict=True))


def unquoted(text: str) -> str:
    """The text between the quotes, with its escapes replaced."""
    match = _QUOTED.fullmatch(text)
    if match is None:
        raise Said(f"error: error parsing jsonpath {{{text}}}, unterminated quoted string", 2)
    quote, inner = text[0], match[1] if match[1] is not None else match[2]

    def character(escape: re.Match[str]) -> str:
        octal, *hexadecimal, letter = escape.groups()
        code = int(octal, 8) if octal else next((int(digits, 16) for digits in hexadecimal if digits), -1)
        if 0 <= code <= 0x10FFFF and not 0xD800 <= code < 0xE000:
            return chr(code)
        if letter and letter in _LETTERS:
            return _LETTERS[letter]
        if letter == quote:
            return quote
        raise Said(f"error: error parsing jsonpath {{{text}}}, unquote string {text} error invalid syntax", 2)

    return _ESCAPE.sub(character, inner)
