"""Runs an expression in time linear in the text, whatever the expression.

The tree becomes a list of steps, of which a text may be at several at once; a *moment* is such a set of steps
together with what stood before. Where a character leads from a moment is found out once and remembered, so
most characters cost one look-up. Python's own engine tries one way after the other instead, and a value like
`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!` keeps it busy for hours with `^(a+)+$`: the value comes from any client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from longshore.api.structural.regex import characters
from longshore.api.structural.regex.characters import Set
from longshore.api.structural.regex.tree import Either, Part, Place, Repeat, Row

_MAX_STEPS: Final = 10_000
_MAX_REMEMBERED: Final = 10_000
_WORD: Final = characters.perl("w")


class TooLarge(Exception):
    """The expression has more steps than are kept."""


@dataclass(frozen=True, slots=True)
class _Fork:
    """Goes on at each of the steps."""

    to: list[int]


_Step = Set | Place | _Fork | None  # None: the expression has matched


class _Moment:
    """Where a text can be in the expression, and what stood before: see `_kind`."""

    __slots__ = ("at", "before", "leads")

    def __init__(self, at: frozenset[int], before: str) -> None:
        self.at = at
        self.before = before
        self.leads: dict[str, _Moment | None] = {}


class Automaton:
    """An expression to search texts with. Raises TooLarge."""

    def __init__(self, expression: Part) -> None:
        self._steps: list[_Step] = []
        self._add(expression)
        self._steps.append(None)
        self._forget()

    def search(self, text: str) -> bool:
        """Whether the expression matches anywhere in the text."""
        moment = self._first
        for ch in text:
            try:
                after = moment.leads[ch]
            except KeyError:
                after = self._lead(moment, ch)
            if after is None:
                return True
            moment = after
        return self._reached(moment, "") is None

    def _forget(self) -> None:
        self._remembered = 0
        self._first = _Moment(frozenset(), "")
        self._known = {(self._first.at, ""): self._first}

    def _lead(self, moment: _Moment, ch: str) -> _Moment | None:
        """Where the character leads from there; None when the expression has matched before it."""
        if self._remembered >= _MAX_REMEMBERED:
            self._forget()
        self._remembered += 1
        reached = self._reached(moment, _kind(ch))
        after: _Moment | None = None
        if reached is not None:
            key = frozenset(n + 1 for n, step in reached if step.holds(ch)), _kind(ch)
            after = self._known.get(key) or self._known.setdefault(key, _Moment(*key))
        moment.leads[ch] = after
        return after

    def _reached(self, moment: _Moment, ahead: str) -> list[tuple[int, Set]] | None:
        """The steps that wait for a character, the first included: a match may begin anywhere.

        None when the expression has matched."""
        found: list[tuple[int, Set]] = []
        seen = {0, *moment.at}
        waiting = list(seen)
        for n in waiting:  # grows as it goes
            step = self._steps[n]
            if step is None:
                return None
            if isinstance(step, Set):
                found.append((n, step))
                continue
            to = step.to if isinstance(step, _Fork) else [n + 1] * _is_there(step.what, moment.before, ahead)
            waiting += [more for more in to if more not in seen]
            seen.update(to)
        return found

    def _add(self, part: Part) -> None:
        if len(self._steps) > _MAX_STEPS:
            raise TooLarge
        match part:
            case Row():
                for one in part.parts:
                    self._add(one)
            case Either():
                self._add_either(part.parts)
            case Repeat():
                for _ in range(part.least):
                    self._add(part.part)
                if part.most is None:
                    self._add_loop(part.part)
                else:
                    ends = [self._add_maybe(part.part) for _ in range(part.most - part.least)]
                    self._meet_here(ends)
            case _:
                self._steps.append(part)

    def _add_either(self, parts: tuple[Part, ...]) -> None:
        fork = self._fork()
        ends = []
        for one in parts:
            fork.to.append(len(self._steps))
            self._add(one)
            ends.append(self._fork())
        self._meet_here(ends)

    def _add_loop(self, part: Part) -> None:
        start = len(self._steps)
        end = self._add_maybe(part)
        self._fork().to.append(start)
        self._meet_here([end])

    def _add_maybe(self, part: Part) -> _Fork:
        """The part or nothing; the way round it has still to be told its end."""
        fork = self._fork()
        fork.to.append(len(self._steps))
        self._add(part)
        return fork

    def _fork(self) -> _Fork:
        fork = _Fork([])
        self._steps.append(fork)
        return fork

    def _meet_here(self, forks: list[_Fork]) -> None:
        for fork in forks:
            fork.to.append(len(self._steps))


def _kind(ch: str) -> str:
    """All that a place asks of the character beside it: none, a line break, of a word, or another."""
    return ch if ch in ("", "\n") else "w" if _WORD.holds(ch) else "-"


def _is_there(what: str, before: str, ahead: str) -> bool:
    match what:
        case "text begins":
            return not before
        case "text ends":
            return not ahead
        case "line begins":
            return before in ("", "\n")
        case "line ends":
            return ahead in ("", "\n")
        case _:
            return ((before == "w") is not (ahead == "w")) is (what == "word edge")
