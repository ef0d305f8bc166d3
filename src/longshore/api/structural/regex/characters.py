"""Sets of characters, as an expression names them: ranges, Perl's, POSIX' and Unicode's classes.

A set answers one question, `holds(ch)`; an automaton asks it once for each character and state, so it need
not be quick. Perl's and POSIX' classes are ASCII, as in Go. Of Unicode's classes the general categories are
known (`\\p{L}`, `\\p{Lu}`); scripts (`\\p{Greek}`) are not, since Python does not tell them.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

_POSIX: Final = {
    "alnum": ("09", "AZ", "az"),
    "alpha": ("AZ", "az"),
    "ascii": ("\x00\x7f",),
    "blank": ("\t\t", "  "),
    "cntrl": ("\x00\x1f", "\x7f\x7f"),
    "digit": ("09",),
    "graph": ("!~",),
    "lower": ("az",),
    "print": (" ~",),
    "punct": ("!/", ":@", "[`", "{~"),
    "space": ("\t\r", "  "),
    "upper": ("AZ",),
    "word": ("09", "AZ", "__", "az"),
    "xdigit": ("09", "AF", "af"),
}
_PERL: Final = {"d": ("09",), "w": _POSIX["word"], "s": ("\t\n", "\f\r", "  ")}
_CATEGORY: Final = re.compile("L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfos]?")


@dataclass(frozen=True, slots=True)
class Set:
    """Characters: in one of the ranges, categories or sets within, or in none of them when negated."""

    ranges: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    within: tuple[Set, ...] = ()
    negated: bool = False
    folded: bool = False

    def holds(self, ch: str) -> bool:
        """Whether the character is in it; a folded set looks at its capital and its small letter too."""
        found = self._has(ch) or (self.folded and (self._has(ch.lower()) or self._has(ch.upper())))
        return found is not self.negated

    def _has(self, ch: str) -> bool:
        if len(ch) > 1:  # the other case of a few characters is two
            return False
        if any(pair[0] <= ch <= pair[1] for pair in self.ranges):
            return True
        if self.categories and unicodedata.category(ch).startswith(self.categories):
            return True
        return any(one.holds(ch) for one in self.within)


ANY: Final = Set(negated=True)
ANY_BUT_BREAK: Final = Set(("\n\n",), negated=True)


def one(ch: str, folded: bool) -> Set:
    return Set((ch + ch,), folded=folded)


def perl(letter: str) -> Set:
    r"""`\d \D \w \W \s \S`."""
    return Set(_PERL[letter.lower()], negated=letter.isupper())


def posix(name: str) -> Set | None:
    """`[:alpha:]` or `[:^alpha:]` by what stands between the colons; None for a name nobody knows."""
    ranges = _POSIX.get(name.removeprefix("^"))
    return None if ranges is None else Set(ranges, negated=name.startswith("^"))


def unicode_class(name: str, negated: bool) -> Set | None:
    r"""`\p{Lu}` by the name in it; None for a class Python cannot tell."""
    if name.startswith("^"):
        name, negated = name[1:], not negated
    if name == "Any":
        return Set(negated=not negated)
    return Set(categories=(name,), negated=negated) if _CATEGORY.fullmatch(name) else None
