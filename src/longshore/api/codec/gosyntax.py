"""The syntax error in a JSON text, in the words of Go's scanner.

Only the first offence is named, as Go does. Slower than a parser, so it runs after a parser has
refused the text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

MAX_NESTING: Final = 10_000

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS: Final = re.compile(rb"[0-9]*")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_ESCAPES: Final = frozenset(b'bfnrt\\/"')
_NONZERO: Final = frozenset(b"123456789")
_DIGIT: Final = frozenset(b"0123456789")
_LITERALS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_END: Final = "unexpected end of JSON input"


@cache
def _runs() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Runs of faultless items of a list, or pairs of an object, with the comma after each.

    Skipping these at once keeps long texts quick. Compiled on first use: most processes never need it.
    """
    space, string = r"[ \t\r\n]*+", r'"[^"\\\x00-\x1f]*+"'
    number = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
    flat = rf"(?:{string}|{number}|true|false|null|\[{space}\]|\{{{space}\}})"
    pair = rf"{string}{space}:{space}{flat}"
    items = rf"\[{space}{flat}(?:{space},{space}{flat})*+{space}\]"
    pairs = rf"\{{{space}{pair}(?:{space},{space}{pair})*+{space}\}}"
    value = rf"(?:{flat}|{items}|{pairs}){space},{space}"
    return (
        re.compile(rf"(?:{value})*+".encode()),
        re.compile(rf"(?:{string}{space}:{space}{value})*+".encode()),
    )


class _Offence(Exception):
    pass


def syntax_error(raw: bytes) -> str | None:
    """Go's message for `raw`; None when it is one well-formed JSON value."""
    try:
        _Scanner(raw).document()
    except _Offence as offence:
        return str(offence)
    return None


class _Scanner:
    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0
        self.items, self.pairs = _runs()

    def document(self) -> None:
        """One value with nothing but space around it. `stack` holds the open brackets."""
        stack: list[int] = []
        self.space()
        while True:
            opened = self.value_start(stack)
            if opened:
                continue
            if not self.close_values(stack):
                break
        if self.at < len(self.raw):
            raise self.invalid("after top-level value")

    def value_start(self, stack: list[int]) -> bool:
        """Reads a scalar and returns False, or an opening bracket up to its first value and returns True."""
        char = self.peek()
        if char not in b"{[":
            self.scalar(char)
            return False
        if len(stack) >= MAX_NESTING:
            raise self.invalid("exceeded max depth")
        self.at += 1
        self.space()
        if char == ord("["):
            if self.peek() == ord("]"):
                self.at += 1
                return False
            self.skip(self.items)
        else:
            if self.peek() == ord("}"):
                self.at += 1
                return False
            self.skip(self.pairs)
            self.key()
        stack.append(char)
        return True

    def close_values(self, stack: list[int]) -> bool:
        """Reads what follows a value: a comma, or closing brackets. True if another value is due."""
        self.space()
        while stack:
            char, is_list = self.peek(), stack[-1] == ord("[")
            self.at += 1
            if char == ord(","):
                self.space()
                self.skip(self.items if is_list else self.pairs)
                if not is_list:
                    self.key()
                return True
            if char != (ord("]") if is_list else ord("}")):
                self.at -= 1
                raise self.invalid("after array element" if is_list else "after object key:value pair")
            stack.pop()
            self.space()
        return False

    def key(self) -> None:
        if self.peek() != ord('"'):
            raise self.invalid("looking for beginning of object key string")
        self.string()
        self.space()
        if self.peek() != ord(":"):
            raise self.invalid("after object key")
        self.at += 1
        self.space()

    def scalar(self, char: int) -> None:
        if char == ord('"'):
            self.string()
        elif char == ord("-") or char in _DIGIT:
            self.number()
        elif char in _LITERALS:
            word = _LITERALS[char]
            for expected in word[1:]:
                self.at += 1
                if self.look() != expected:
                    raise self.invalid(f"in literal {word.decode()} (expecting {_quoted(expected)})")
            self.at += 1
        else:
            raise self.invalid("looking for beginning of value")

    def string(self) -> None:
        self.at += 1
        while True:
            self.skip(_PLAIN)
            char = self.peek()
            self.at += 1
            if char == ord('"'):
                return
            if char != ord("\\"):
                self.at -= 1
                raise self.invalid("in string literal")
            if self.look() == ord("u"):
                for _ in range(4):
                    self.at += 1
                    if self.look() not in _HEX:
                        raise self.invalid("in \\u hexadecimal character escape")
            elif self.look() not in _ESCAPES:
                raise self.invalid("in string escape code")
            self.at += 1

    def number(self) -> None:
        if self.look() == ord("-"):
            self.at += 1
        if self.look() in _NONZERO:
            self.skip(_DIGITS)
        elif self.look() == ord("0"):
            self.at += 1
        else:
            raise self.invalid("in numeric literal")
        if self.look() == ord("."):
            self.at += 1
            self.digits("after decimal point in numeric literal")
        if self.look() in b"eE":
            self.at += 1
            if self.look() in b"+-":
                self.at += 1
            self.digits("in exponent of numeric literal")

    def digits(self, context: str) -> None:
        if self.look() not in _DIGIT:
            raise self.invalid(context)
        self.skip(_DIGITS)

    def space(self) -> None:
        self.skip(_SPACE)

    def skip(self, pattern: re.Pattern[bytes]) -> None:
        match = pattern.match(self.raw, self.at)
        assert match is not None
        self.at = match.end()

    def peek(self) -> int:
        """The next byte; an error if the text has ended."""
        if self.at >= len(self.raw):
            raise _Offence(_END)
        return self.raw[self.at]

    def look(self) -> int:
        """The next byte inside a token; a space at the end of the text, as in Go."""
        return self.raw[self.at] if self.at < len(self.raw) else ord(" ")

    def invalid(self, context: str) -> _Offence:
        return _Offence(f"invalid character {_quoted(self.look())} {context}")


def _quoted(char: int) -> str:
    """The character in single quotes as Go prints a byte."""
    if char == ord("'"):
        return r"'\''"
    if char == ord('"'):
        return "'\"'"
    text = chr(char)
    if text in _SHORT_ESCAPES:
        return f"'{_SHORT_ESCAPES[text]}'"
    if char < 0x20 or char == 0x7F:
        return f"'\\x{char:02x}'"
    if 0x80 <= char < 0xA1 or char == 0xAD:
        return f"'\\u{char:04x}'"
    return f"'{text}'"


_SHORT_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\",
}  # fmt: skip
