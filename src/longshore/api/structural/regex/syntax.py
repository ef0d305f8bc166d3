r"""Reads an expression as Go does, and refuses what Go refuses in Go's words.

There are neither look-around nor back references in that syntax, which is why an automaton can run it.
Groups capture nothing here: a pattern only asks whether a text matches. For the same reason `*?` and the flag
U, which prefer shorter matches, change nothing.
"""

from __future__ import annotations

import re
from typing import Final

from longshore.api.structural.regex import characters
from longshore.api.structural.regex.characters import Set
from longshore.api.structural.regex.tree import Either, Part, Place, Repeat, Row

_MAX_REPEAT: Final = 1000
_MAX_DEPTH: Final = 50
"""Go allows 1,000; nobody nests groups like that, and this reader is recursive."""
_COUNT: Final = re.compile(r"\{(\d+)(,(\d*))?\}")
_NAME: Final = re.compile(r"\(\?P?<(\w*)>", re.ASCII)
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class BadPattern(ValueError):
    """Go would not take this expression; the text is the one it gives."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


class UnknownClass(Exception):
    """A class of Unicode's that Go knows and Python does not tell."""


def read(text: str) -> Part:
    """The expression as a tree. Raises BadPattern, or UnknownClass for what cannot be checked here."""
    reader = _Reader(text)
    part = reader.alternatives(frozenset(), 0)
    if reader.at < len(text):
        raise BadPattern("unexpected )", text)
    return part


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def alternatives(self, flags: frozenset[str], depth: int) -> Part:
        """Up to the end, or to the parenthesis that closes the group."""
        if depth > _MAX_DEPTH:
            raise BadPattern("expression nests too deeply", self.text)
        parts: list[Part] = []
        row: list[Part] = []
        repeated = -1  # where the repetition in front of here began, if there is one
        while self.at < len(self.text) and (ch := self.text[self.at]) != ")":
            start = self.at
            if ch == "|":
                self.at += 1
                parts.append(Row(tuple(row)))
                row = []
            elif (times := self._times(ch)) is not None:
                self._repeat(row, times, start, repeated)
                repeated = start
                continue
            elif ch == "(":
                found = self._group(flags, depth)
                if isinstance(found, frozenset):
                    flags = found
                else:
                    row.append(found)
            else:
                found = self._single(ch, flags)
                row += found.parts if isinstance(found, Row) else (found,)  # quoted: repeated is the last one
            repeated = -1
        parts.append(Row(tuple(row)))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _times(self, ch: str) -> tuple[int, int | None] | None:
        """How often, if a repetition stands here, read with the `?` that makes it lazy."""
        times: tuple[int, int | None]
        if ch in "*+?":
            self.at += 1
            times = (1 if ch == "+" else 0, 1 if ch == "?" else None)
        elif ch == "{" and (count := _COUNT.match(self.text, self.at)):
            self.at = count.end()
            least = int(count[1])
            times = (least, least if count[2] is None else int(count[3]) if count[3] else None)
            if max(least, times[1] or 0) > _MAX_REPEAT or (times[1] is not None and times[1] < least):
                raise BadPattern("invalid repeat count", count[0])
        else:
            return None
        if self.text.startswith("?", self.at):
            self.at += 1
        return times

    def _repeat(self, row: list[Part], times: tuple[int, int | None], start: int, repeated: int) -> None:
        if repeated >= 0:
            raise BadPattern("invalid nested repetition operator", self.text[repeated : self.at])
        if not row:
            raise BadPattern("missing argument to repetition operator", self.text[start : self.at])
        again = Repeat(row.pop(), *times)
        if _most_copies(again) > _MAX_REPEAT:
            raise BadPattern("invalid repeat count", self.text[start : self.at])
        row.append(again)

    def _group(self, flags: frozenset[str], depth: int) -> Part | frozenset[str]:
        """A group, or the flags that hold from here on."""
        inner = flags
        if not self.text.startswith("(?", self.at):
            self.at += 1
        elif name := _NAME.match(self.text, self.at):
            if not name[1]:
                raise BadPattern("invalid named capture", name[0])
            self.at = name.end()
        elif self.text.startswith(("(?<", "(?P<"), self.at):
            raise BadPattern("invalid named capture", self.text[self.at :])
        elif (own := _FLAGS.match(self.text, self.at)) and own[0] != "(?)":
            self.at = own.end()
            inner = (flags | frozenset(own[1])) - frozenset(own[2] or "")
            if own[3] == ")":
                return inner
        else:
            raise BadPattern("invalid or unsupported Perl syntax", self.text[self.at : self.at + 3])
        part = self.alternatives(inner, depth + 1)
        if self.at >= len(self.text):
            raise BadPattern("missing closing )", self.text)
        self.at += 1
        return part

    def _single(self, ch: str, flags: frozenset[str]) -> Part:
        """One character, class or place."""
        if ch == "[":
            return self._class("i" in flags)
        if ch == "\\":
            return self._escape("i" in flags)
        self.at += 1
        if ch == ".":
            return characters.ANY if "s" in flags else characters.ANY_BUT_BREAK
        if ch == "^":
            return Place("line begins" if "m" in flags else "text begins")
        if ch == "$":
            return Place("line ends" if "m" in flags else "text ends")
        return characters.one(ch, "i" in flags)

    def _escape(self, folded: bool) -> Part:
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in ("A", "z", "b", "B"):
            self.at += 2
            return Place(
                {"A": "text begins", "z": "text ends", "b": "word edge", "B": "no word edge"}[letter]
            )
        if letter == "Q":
            end = self.text.find("\\E", self.at)
            quoted = self.text[self.at + 2 : end if end >= 0 else None]
            self.at = end + 2 if end >= 0 else len(self.text)
            return Row(tuple(characters.one(ch, folded) for ch in quoted))
        found = self._characters()
        return characters.one(found, folded) if isinstance(found, str) else found

    def _characters(self) -> str | Set:
        """The character or the class that a backslash stands for."""
        start, letter = self.at, self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if not letter:
            raise BadPattern("trailing backslash at end of expression", "")
        if letter in "dDwWsS":
            return characters.perl(letter)
        if letter in "pP":
            return self._unicode(start, letter == "P")
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter == "x" and (
            code := re.compile(r"([0-9a-fA-F]{2})|\{([0-9a-fA-F]+)\}").match(self.text, self.at)
        ):
            self.at = code.end()
            if (number := int(code[1] or code[2], 16)) <= 0x10FFFF:
                return chr(number)
        elif letter in "01234567" and (
            octal := re.compile("0[0-7]{0,2}|[1-7][0-7]{1,2}").match(self.text, start + 1)
        ):
            self.at = octal.end()
            return chr(int(octal[0], 8))
        elif letter.isascii() and not letter.isalnum():
            return letter
        raise BadPattern("invalid escape sequence", self.text[start : self.at])

    def _unicode(self, start: int, negated: bool) -> Set:
        name = re.compile(r"\{(\^?\w+)\}|\w").match(self.text, self.at)
        if name is None:
            raise BadPattern("invalid character class range", self.text[start : self.at])
        self.at = name.end()
        found = characters.unicode_class(name[1] or name[0], negated)
        if found is None:
            raise UnknownClass(self.text[start : self.at])
        return found

    def _class(self, folded: bool) -> Set:
        start = self.at
        self.at += 1
        negated = self.text.startswith("^", self.at)
        self.at += negated
        ranges: list[str] = []
        within: list[Set] = []
        first = True
        while first or not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise BadPattern("missing closing ]", self.text[start:])
            begun, first = self.at, False
            low = self._class_part(start)
            if isinstance(low, Set):
                within.append(low)
                continue
            high: str | Set = low
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                high = self._class_part(start)
            if isinstance(high, Set) or high < low:
                raise BadPattern("invalid character class range", self.text[begun : self.at])
            ranges.append(low + high)
        self.at += 1
        return Set(tuple(ranges), within=tuple(within), negated=negated, folded=folded)

    def _class_part(self, start: int) -> str | Set:
        """One character or class within brackets."""
        if self.text.startswith("[:", self.at) and (close := self.text.find(":]", self.at + 2)) > 0:
            begun, self.at = self.at, close + 2
            found = characters.posix(self.text[begun + 2 : close])
            if found is None:
                raise BadPattern("invalid character class range", self.text[begun : self.at])
            return found
        if self.text.startswith("\\", self.at):
            return self._characters()
        if self.at >= len(self.text):
            raise BadPattern("missing closing ]", self.text[start:])
        self.at += 1
        return self.text[self.at - 1]


def _most_copies(part: Part) -> int:
    """How many copies of its innermost part repetitions within repetitions ask for."""
    if isinstance(part, Repeat):
        return max(part.most or part.least, 1) * _most_copies(part.part)
    if isinstance(part, Row | Either):
        return max((_most_copies(one) for one in part.parts), default=1)
    return 1
